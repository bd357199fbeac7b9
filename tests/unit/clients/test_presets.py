"""The presets of `fieldpost submissions import` are those of the service."""

from typing import Any

from fieldpost.cli.import_rows import presets
from submissions.importing.presets import PRESETS, Preset

NAMES = {"time": "createdAt", "id": "sourceId", "has_marks": "hasMarks"}  # of members that the file calls otherwise


def as_data(preset: Preset) -> dict[str, Any]:
    """Return a preset as the file has it, without members that say nothing."""
    members = {name: getattr(preset, name) for name in Preset.__dataclass_fields__}
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in members.items()}
    return {NAMES.get(name, name): value for name, value in plain.items() if value}


def test_presets__of_the_command__are_those_of_the_service() -> None:
    assert presets() == {name: as_data(preset) for name, preset in PRESETS.items()}
