"""The import path that migrations from before 0.1 name. New code imports `config.times`."""

from config.times import now as now
