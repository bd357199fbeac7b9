"""Old path of `new_id`, which landed migrations import. New code imports `config.ids`."""

from config.ids import new_id as new_id
