"""The tests: `unit` in one process, `api` black box over HTTP, then scale, browser and faults. See `tests.run`."""
