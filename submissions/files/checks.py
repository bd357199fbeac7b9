"""The checks of a file that was sent to a field, in their order, and the texts of what they refuse."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext, gettext_noop, ngettext

from config.api.errors import Detail, ValidationFailed
from forms_app.field_definitions import DEFAULT_FILE_BYTES, DEFAULT_FILES, FieldDefinition
from forms_app.file_fields.entries import types_for_people
from keys.plans import show_bytes
from submissions.files.arrived import Arrived, Checked
from submissions.files.content import detect, fits
from submissions.files.file_types import RefusedContent, usual_extension
from submissions.files.names import NOTHING_LEFT

TOO_LARGE, TOO_MANY, EMPTY = "too_large", "too_many", "empty_file"
WRONG_TYPE, BAD_ID, NOT_ALLOWED = "file_type_not_allowed", "invalid_upload", "file_not_allowed"
FILE_CODES = {TOO_LARGE, TOO_MANY, EMPTY, WRONG_TYPE, BAD_ID}  # of a File field; NOT_ALLOWED is of others

_MESSAGES = {
    TOO_LARGE: gettext_noop("A file in “%(label)s” is too large. Each may have at most %(most)s."),
    EMPTY: gettext_noop("A file in “%(label)s” is empty. Choose another one."),
    WRONG_TYPE: gettext_noop(
        "A file in “%(label)s” has a type that is not accepted, or its name suggests another type. Accepted: %(types)s"
    ),
    BAD_ID: gettext_noop("A file in “%(label)s” was not found, or was used already. Choose it again."),
}


def most_files(field: Mapping[str, Any]) -> int:
    return int(field.get("maxFiles", DEFAULT_FILES))


def most_bytes_of(field: Mapping[str, Any]) -> int:
    return int(field.get("maxBytes", DEFAULT_FILE_BYTES))


def accept_of(field: Mapping[str, Any]) -> list[str]:
    """Return the media types and extensions that a field takes; empty: all that are safe."""
    return list(field.get("accept", ()))


def check_file(field: FieldDefinition, file: Arrived) -> Checked:
    """
    Return the file with its type, as one of this field. One without a name is named by its type.

    Raises ValidationFailed, which names the field: too large, empty, of a wrong type.
    """
    if file.size > most_bytes_of(field):
        raise refusal(field, TOO_LARGE)
    if file.size == 0:
        raise refusal(field, EMPTY)
    try:
        found = detect(file.content, file.name)
    except RefusedContent as refused:
        raise ValidationFailed([Detail(field["name"], WRONG_TYPE, str(refused))]) from None
    name = file.name or NOTHING_LEFT + usual_extension(found.media_type)
    if not fits(found, name, accept_of(field)):
        raise refusal(field, WRONG_TYPE)
    return Checked(dataclasses.replace(file, field=field["name"], name=name), found.media_type)


def refusal(field: Mapping[str, Any], code: str) -> ValidationFailed:
    """Return the error of a field's files."""
    return ValidationFailed([Detail(field["name"], code, message_of(field, code), has_subject=True)])


def message_of(field: Mapping[str, Any], code: str) -> str:
    """Return the sentence of an error, in the language that is active."""
    accept, number = accept_of(field), most_files(field)
    values = {"label": field["label"], "types": types_for_people(accept), "most": show_bytes(most_bytes_of(field))}
    if code == TOO_MANY:
        text = ngettext("“%(label)s” takes at most %(most)s file.", "“%(label)s” takes at most %(most)s files.", number)
        return text % (values | {"most": number})
    if code == WRONG_TYPE and not accept:
        return gettext("The name of a file in “%(label)s” suggests another type than its content.") % values
    return gettext(_MESSAGES.get(code, _MESSAGES[BAD_ID])) % values
