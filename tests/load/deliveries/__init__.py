"""The parts of `make bench` about deliveries: draining, dispatching, and submitting meanwhile."""
