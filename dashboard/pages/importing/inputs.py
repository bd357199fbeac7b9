"""The inputs of an import: a file, and what its columns are."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext, gettext_lazy, pgettext_lazy

from submissions.importing.files import FORMATS
from submissions.importing.mapping import Columns, zone_named
from submissions.importing.presets import PRESETS, Preset
from submissions.importing.uploads import MAX_FILE_BYTES

MAX_SHOWN = 200  # columns
SOURCES = [
    ("", pgettext_lazy("the origin of a file", "Another service")),
    ("fieldpost", "Fieldpost"),
    ("formspree", "Formspree"),
    ("netlify", "Netlify"),
    ("typeform", "Typeform"),
    ("google", "Google Forms"),
]
TIMES = frozenset({"createdat", "submittedat", "sentat", "timestamp", "submissiondate", "datetime", "date", "time"})
VALUE, LEFT_OUT = "value", "none"
USES = [
    (VALUE, pgettext_lazy("the use of a column", "Value")),
    ("time", pgettext_lazy("the use of a column", "Time of submission")),
    ("id", pgettext_lazy("the use of a column", "ID there")),
    ("spam", pgettext_lazy("the use of a column", "Whether it is spam")),
    (LEFT_OUT, pgettext_lazy("the use of a column", "Left out")),
]


class ImportUploadForm(forms.Form):
    """A file to import, and where it is from."""

    file = forms.FileField(
        label=gettext_lazy("File"),
        help_text=gettext_lazy("CSV, JSON or NDJSON, up to 50 MB."),
        widget=forms.FileInput(attrs={"accept": ".csv,.json,.ndjson,.jsonl"}),
    )
    preset = forms.ChoiceField(choices=SOURCES, required=False, label=gettext_lazy("From"))

    def clean_file(self) -> Any:
        """Refuse a file of another format, or one that is too large."""
        file = self.cleaned_data["file"]
        if file.size > MAX_FILE_BYTES:
            raise forms.ValidationError(gettext("The file has more than 50 MB. Split it, or use the command."))
        if self.format_of(file.name) not in FORMATS:
            raise forms.ValidationError(gettext("The name of the file must end in .csv, .json or .ndjson."))
        return file

    @staticmethod
    def format_of(name: str) -> str:
        return name.rpartition(".")[2].lower().replace("jsonl", "ndjson")


@dataclasses.dataclass(frozen=True, slots=True)
class Column:
    """A column on the screen: its place, its name, an example, and what is chosen for it."""

    place: int
    name: str
    example: str
    use: str
    value_name: str


class ImportColumnsForm(forms.Form):
    """The zone and the format of times."""

    zone = forms.CharField(
        max_length=60,
        label=gettext_lazy("Time zone"),
        help_text=gettext_lazy("Of times without an offset, such as Europe/Berlin."),
        widget=forms.TextInput(attrs={"spellcheck": "false"}),
    )
    date_format = forms.CharField(
        max_length=60,
        required=False,
        label=gettext_lazy("Format of times"),
        help_text=gettext_lazy("Where a time can be read in two ways, such as %d.%m.%Y %H:%M. Usually empty."),
        widget=forms.TextInput(attrs={"spellcheck": "false"}),
    )

    def clean_zone(self) -> str:
        """Refuse a name of no zone."""
        zone: str = self.cleaned_data["zone"]
        try:
            zone_named(zone)
        except ValueError as error:
            raise forms.ValidationError(str(error)) from None
        return zone


def names_of(records: Sequence[dict[str, Any]], preset_name: str) -> list[str]:
    """Return the columns in the order seen; where values are inside of a record, theirs with time, id and spam."""
    preset = PRESETS.get(preset_name, Preset(time=()))
    outside = (*preset.time, *preset.id, *preset.spam)
    names: dict[str, None] = {}
    for record in records:
        inner = record.get(preset.values) if preset.values else None
        if isinstance(inner, dict):
            names |= dict.fromkeys([*inner, *(name for name in record if name in outside)])
        else:
            names |= dict.fromkeys(record)
    return list(names)[:MAX_SHOWN]


def first_choice(
    preset_name: str, names: Sequence[str], zone: str, fields: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return how the columns are mapped before anybody chooses: values as the form's fields, by their name or label."""
    times = tuple(name for name in names if _letters(name) in TIMES)
    preset = PRESETS.get(preset_name, Preset(time=times))
    chosen: dict[str, Any] = {"preset": preset_name, "zone": zone, "date_format": "", "uses": {}, "names": {}}
    for use, candidates in (("time", preset.time), ("id", preset.id), ("spam", preset.spam)):
        if found := next((name for name in candidates if name in names), None):
            chosen["uses"][found] = use
    for name in names:
        if name in preset.dropped:
            chosen["uses"].setdefault(name, LEFT_OUT)
    known = {_letters(field[key]): field["name"] for key in ("label", "name") for field in fields}
    for name in names:
        new = preset.renamed.get(name) or known.get(_letters(name))
        if new and new not in names and new not in chosen["names"].values():
            chosen["names"][name] = new
    return chosen


def _letters(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


def read_choice(post: Any, chosen: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return the mapping that a page sends."""
    known = {use for use, _ in USES}
    uses, renamed = {}, {}
    for place, name in enumerate(names):
        use, new = post.get(f"use-{place}", VALUE), post.get(f"name-{place}", "").strip()
        if use in known and use != VALUE:
            uses[name] = use
        elif new and new != name:
            renamed[name] = new[:128]
    texts = {field: post.get(field, "").strip()[:60] for field in ("zone", "date_format")}
    return {**chosen, **texts, "uses": uses, "names": renamed}


def shown_columns(
    chosen: dict[str, Any], names: Sequence[str], records: Sequence[dict[str, Any]], values: str
) -> list[Column]:
    """Return the columns as the page shows them."""
    return [
        Column(
            place,
            name,
            next((text for record in records if (text := _example(record, name, values))), ""),
            chosen["uses"].get(name, VALUE),
            chosen["names"].get(name, name),
        )
        for place, name in enumerate(names)
    ]


def _example(record: dict[str, Any], name: str, values: str) -> str:
    inner = record.get(values) if values else None
    value = inner[name] if isinstance(inner, dict) and name in inner else record.get(name, "")
    return "" if value is None else str(value)[:80]


def columns_of(chosen: dict[str, Any]) -> Columns:
    """Return the mapping that was chosen. Raises ValueError for an unknown zone."""
    known = PRESETS.get(chosen["preset"], Preset(time=()))
    by_use: dict[str, tuple[str, ...]] = {
        use: tuple(name for name, one in chosen["uses"].items() if one == use) for use in ("time", "id", "spam")
    }
    preset = dataclasses.replace(
        known, time=by_use["time"], id=by_use["id"], spam=by_use["spam"], dropped=(), renamed={}
    )
    left_out = {name: "" for name, use in chosen["uses"].items() if use == LEFT_OUT}
    formats = (chosen["date_format"],) if chosen["date_format"] else ()
    return Columns(preset, {**chosen["names"], **left_out}, formats, zone_named(chosen["zone"]))
