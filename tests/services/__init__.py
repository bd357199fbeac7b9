"""The real parts that tests run against: databases, Redis, the service itself, and receivers of its messages."""
