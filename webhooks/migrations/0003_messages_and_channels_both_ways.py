"""
The same as `0003_messages_and_channels`, with a way back when there are mails.

The landed migration removes three constraints after it moves the data. So on the way back they are checked before the
data is there again. Here they are removed first. Databases that have the landed one count as having this one.
"""

from importlib import import_module

from django.db import migrations

_landed = import_module("webhooks.migrations.0003_messages_and_channels").Migration


def _is_late(operation):
    return isinstance(operation, migrations.RemoveConstraint)


def _in_order(operations):
    first = next(
        place for place, operation in enumerate(operations) if isinstance(operation, migrations.RenameField)
    )
    late = [operation for operation in operations if _is_late(operation)]
    before = [operation for operation in operations[:first] if not _is_late(operation)]
    return [*before, *late, *(operation for operation in operations[first:] if not _is_late(operation))]


class Migration(migrations.Migration):

    replaces = [("webhooks", "0003_messages_and_channels")]
    dependencies = _landed.dependencies
    operations = _in_order(_landed.operations)
