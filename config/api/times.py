"""Old path of `now`, which landed migrations import. New code imports `config.base.times`."""

from config.base.times import now as now
