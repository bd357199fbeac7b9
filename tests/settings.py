"""
Django's settings under pytest: those of the service under test, read after the environment was made safe for tests.

A conftest would come too late: pytest-django loads the settings before any conftest.
"""

import os

from tests.services.environment import TEMPLATE_VARIABLE, prepare_environment

prepare_environment()

from tests.services.settings import *  # noqa: E402, F403 - in this order, and all of them

# Copied instead of migrated, in a run. Of the database itself a developer's call may say anything.
if _template := os.environ.get(TEMPLATE_VARIABLE):
    DATABASES["default"]["TEST"] = {"TEMPLATE": _template}  # noqa: F405 - all of them, above
