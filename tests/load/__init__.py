"""The load test: `make bench`."""
