"""Importing a file on screen (docs/contract.md 5.88)."""
