#!/usr/bin/env python
"""Django's command line for Fieldpost. `manage.py --env-file FILE COMMAND` reads the settings of a service."""

import gc
import os
import sys

# The collector would search everything again and again while modules are loaded, which takes a fifth of the start.
# dashboard.apps turns it on again.
if __name__ == "__main__":  # not in the process of an export, which imports this file too
    gc.disable()

from django.core.exceptions import ImproperlyConfigured  # without the collector
from django.core.management import execute_from_command_line  # without the collector

from config.environment.env_file import take_env_file  # without the collector

if __name__ == "__main__":
    try:
        arguments = take_env_file(sys.argv, os.environ)
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
        execute_from_command_line(arguments)
    except ImproperlyConfigured as error:
        hint = " Name the settings: manage.py --env-file FILE COMMAND" if "SECRET_KEY setting" in str(error) else ""
        sys.exit(f"manage.py: {error}{hint}")
