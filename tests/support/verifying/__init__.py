"""The samples of docs/delivery.md that verify a message, run in their languages."""
