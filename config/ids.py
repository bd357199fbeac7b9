"""Old path of `new_id` and `encode_id`, which landed migrations import. New code imports `config.base.ids`."""

from config.base.ids import encode_id as encode_id
from config.base.ids import new_id as new_id
