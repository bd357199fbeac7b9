#!/usr/bin/env python
"""Django's command line for Fieldpost."""

import gc
import os
import sys

# The collector would search everything again and again while modules are loaded, which takes a fifth of the start.
# dashboard.apps turns it on again.
gc.disable()

from django.core.management import execute_from_command_line  # noqa: E402  # without the collector

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    execute_from_command_line(sys.argv)
