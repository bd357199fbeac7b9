"""
The texts of errors for visitors of pages: they name no header, code, field id or limit (docs/contract.md 6.9).

The owner reads the original messages on the dashboard's page of refused submissions.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from config.api.errors import ApiError, Detail
from forms_app.field_definitions import MAX_NAME

ASK_OWNER = "Contact the owner of the site."
UNREADABLE = "This could not be read. Reload the page, then send it again."
BROKEN_PAGE = f"The form on this page is not set up correctly. {ASK_OWNER}"
ROBOT = "Your browser could not show that you are not a robot. Enable JavaScript, reload the page, then send it again."
MESSAGES = {
    "empty_submission": "The form arrived empty. Fill it in, then send it again.",
    "invalid_json": UNREADABLE,
    "invalid_access_key": BROKEN_PAGE,
    "unauthorized": BROKEN_PAGE,
    "unsupported_media_type": BROKEN_PAGE,
    "method_not_allowed": "This address takes forms. Open it in a browser.",
    "form_not_published": f"This form does not take submissions now. {ASK_OWNER}",
    "not_found": f"There is no form with this address. {ASK_OWNER}",
    "conflict": "Something else was sent from this page before. Reload the page, then send it again.",
    "payload_too_large": "This is too much to send. Go back and shorten it, then send it again.",
}
DETAILS: Mapping[str, Callable[[str], str]] = {
    "file_not_allowed": lambda label: (
        f"Files cannot be sent with this form. Remove the file from “{label}”, then send it again."
    ),
    "too_long": lambda label: f"“{label}” is too long. Shorten it, then send it again.",
    "too_many": lambda _label: f"The form on this page has too many fields. {ASK_OWNER}",
    "malformed": lambda _label: UNREADABLE,
    "invalid_type": lambda _label: UNREADABLE,
    "invalid": lambda _label: UNREADABLE,
    "invalid_id": lambda _label: BROKEN_PAGE,
    "blank": lambda _label: BROKEN_PAGE,
    "proof_of_work_required": lambda _label: ROBOT,
}


def put_for_visitors(failure: ApiError, fields: Sequence[Mapping[str, Any]]) -> None:
    """Replace the texts of an error; `fields`: the form's definitions, whose labels stand for names."""
    labels = {field["name"]: field["label"] for field in fields}
    if failure.details:
        failure.details = [_detail(detail, labels.get(detail.field, detail.field)) for detail in failure.details]
        failure.message = failure.details[0].sentence
    else:
        failure.message = MESSAGES.get(failure.code, failure.message)


def _detail(detail: Detail, label: str) -> Detail:
    text = DETAILS.get(detail.code)
    if text is None:  # the check of a declared field: its message names the label
        return detail
    is_name = len(detail.field) < MAX_NAME  # a name that is too long says nothing to anybody
    return Detail(detail.field, detail.code, text(label) if is_name else BROKEN_PAGE, has_subject=True)
