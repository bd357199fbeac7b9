"""Old path of `now`, which landed migrations import. New code imports `config.times`."""

from config.times import now as now
