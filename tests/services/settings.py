"""Settings of the service under test: the project's own, but for the hundreds of passwords that tests hash."""

from config.settings import *  # noqa: F403 - all of them

PASSWORD_HASHERS = ["tests.services.quick_hasher.QuickHasher"]
