"""`python -m fieldpost` is the command `fieldpost`."""

from fieldpost.cli.main import run

run()
