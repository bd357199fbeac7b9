"""
Django's settings under pytest: those of the service under test, read after the environment was made safe for tests.

A conftest would come too late: pytest-django loads the settings before any conftest.
"""

from tests.services.environment import prepare_environment

prepare_environment()

from tests.services.settings import *  # noqa: E402, F403 - in this order, and all of them
