"""Checks of text: words and citations. Each runs by itself, without a database, and as part of `make check`."""
