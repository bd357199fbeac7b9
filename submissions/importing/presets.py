"""How the exports of other services, and our own, are mapped. docs/moving.md names where each was read."""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Preset:
    """
    Names of columns, of which the first that a file has counts.

    `time`: when it was submitted. `id`: its id there. `spam`: whether it is spam. `values`: the member of a JSON record
    that holds the values; "" for the record itself. `dropped`: columns that are no values. `renamed`: the names of
    values whose columns have another one, unless a column has that name. `formats`: of times that are
    not ISO 8601, as strptime takes them. `has_marks`: it writes `'` before what a spreadsheet would run.
    """

    time: tuple[str, ...]
    id: tuple[str, ...] = ()
    spam: tuple[str, ...] = ()
    values: str = ""
    dropped: tuple[str, ...] = ()
    renamed: dict[str, str] = dataclasses.field(default_factory=dict)
    formats: tuple[str, ...] = ()
    has_marks: bool = False


PRESETS: dict[str, Preset] = {
    "fieldpost": Preset(
        time=("createdAt",),
        id=("id",),
        spam=("spam",),
        values="data",
        dropped=("formId", "files", "spamReasons", "held", "meta", "imported", "test"),
        has_marks=True,
    ),
    "formspree": Preset(
        time=("_date",),
        id=("_id",),
        dropped=("_status", "_subject", "_next", "_language", "_gotcha", "_format"),
        renamed={"_replyto": "email"},
    ),
    "netlify": Preset(
        time=("created_at",),
        id=("id", "number"),
        values="data",
        dropped=("ip", "user_agent", "referrer", "form-name", "bot-field"),
    ),
    "typeform": Preset(
        time=("Submit Date (UTC)",),
        id=("#",),
        dropped=("Response Type", "Start Date (UTC)", "Stage Date (UTC)", "Network ID", "Tags", "Ending"),
    ),
    "google": Preset(
        time=("Timestamp", "Zeitstempel"), formats=("%Y/%m/%d %I:%M:%S %p %z", "%Y/%m/%d %H:%M:%S", "%d.%m.%Y %H:%M:%S")
    ),
}
