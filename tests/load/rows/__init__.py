"""The rows of `make bench`: one module for each measurement."""
