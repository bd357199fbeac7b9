"""The files of a post: those in its body, and those sent before it, whose ids are the values of its fields."""

import dataclasses
import datetime as dt
import uuid
from collections.abc import Iterator, Sequence

from config.api.errors import Detail, ValidationFailed
from config.api.serializers import MAX_DETAILS
from config.base.ids import InvalidId, Prefix, decode_id
from forms_app.field_definitions import FieldDefinition
from forms_app.field_kinds import kind_of
from submissions.files.arrived import Arrived, Checked
from submissions.files.attaching import usable
from submissions.files.checks import BAD_ID, NOT_ALLOWED, TOO_MANY, check_file, most_files, refusal
from submissions.files.keeping import give_up, keep_files
from submissions.models import StoredFile
from submissions.receiving.parse_body import LIST_SEPARATOR, Intake

KEPT = dt.timedelta(hours=1)  # for which files of a post wait for its submission, should the process end in between


@dataclasses.dataclass(slots=True)
class FilesOfPost:
    """
    Files that passed their checks: of each field those sent before, then those of the body.

    `names`: the values of the fields.
    """

    files: list[StoredFile | Checked]
    names: dict[str, str]
    _new: list[StoredFile] = dataclasses.field(default_factory=list)

    @property
    def size(self) -> int:
        return sum(file.arrived.size if isinstance(file, Checked) else file.size for file in self.files)

    @property
    def has_new(self) -> bool:
        return any(isinstance(file, Checked) for file in self.files)

    def keep(self, organization_id: uuid.UUID, form_id: uuid.UUID) -> list[StoredFile]:
        """Store the files of the body and return all. Raises FilesAway; then none of them is kept."""
        new = [file for file in self.files if isinstance(file, Checked)]
        self._new = keep_files(new, organization_id=organization_id, form_id=form_id, kept=KEPT)
        rows = iter(self._new)
        return [next(rows) if isinstance(file, Checked) else file for file in self.files]

    def give_up(self) -> None:
        """Give up the files of the body, which no submission has. Those sent before stay, for another try."""
        if self._new:
            give_up(self._new)


def check_files(
    fields: Sequence[FieldDefinition], intake: Intake, arrived: Sequence[Arrived], *, form_id: uuid.UUID
) -> FilesOfPost:
    """Return the files of a post. Raises ValidationFailed with a Detail for each field whose files do not fit."""
    found, problems = FilesOfPost([], {}), list(_not_allowed(fields, arrived))
    for field in fields:
        if not kind_of(field["type"]).takes_files:
            continue
        try:
            files = _files_of(field, intake, [file for file in arrived if file.field == field["name"]], form_id)
        except ValidationFailed as failure:
            problems += failure.details
            continue
        if files:
            found.files += files
            found.names[field["name"]] = LIST_SEPARATOR.join(
                file.arrived.name if isinstance(file, Checked) else file.name for file in files
            )
    if problems:
        raise ValidationFailed(problems[:MAX_DETAILS])
    return found


def _not_allowed(fields: Sequence[FieldDefinition], arrived: Sequence[Arrived]) -> Iterator[Detail]:
    """Yield a Detail for each name with a file that is not a File field's."""
    taking = {field["name"] for field in fields if kind_of(field["type"]).takes_files}
    advice = "files cannot be sent with this form. Remove the file, then send again."
    if taking:
        advice = "only declared File fields take files. Remove the file, then send again."
    for name in dict.fromkeys(file.field for file in arrived):
        if name not in taking:
            yield Detail(name, NOT_ALLOWED, advice)


def _files_of(
    field: FieldDefinition, intake: Intake, arrived: Sequence[Arrived], form_id: uuid.UUID
) -> list[StoredFile | Checked]:
    name = field["name"]
    texts = [text.strip() for text in intake.lists.get(name, [intake.values.get(name, "")])]
    texts = [text for text in texts if text]
    if len(texts) + len(arrived) > most_files(field):
        raise refusal(field, TOO_MANY)
    try:
        ids = [decode_id(Prefix.FILE, text) for text in texts]
    except InvalidId:
        raise refusal(field, BAD_ID) from None
    sent_before = usable(ids, form_id=form_id, field=field) if ids else []
    return [*sent_before, *(check_file(field, file) for file in arrived)]
