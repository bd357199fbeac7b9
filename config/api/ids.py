"""The import path that migrations from before 0.1 name. New code imports `config.ids`."""

from config.ids import new_id as new_id
