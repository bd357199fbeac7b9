"""
The texts of errors for visitors of pages: they name no header, code, field id or limit (docs/contract.md 6.9).

They are in the language that is active: the form's for a page, English for JSON. Gates raise errors in English, as the
owner reads them on the dashboard's page of refused submissions; here each is said again by its code.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext, gettext_lazy

from config.api.error_pages import BUSY
from config.api.errors import ApiError, Detail, InternalError, OriginNotAllowed, current_request_id
from forms_app.field_definitions import MAX_NAME
from forms_app.field_kinds import kind_of
from forms_app.validation import value_message
from submissions.files.checks import FILE_CODES, message_of

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

UNREADABLE = gettext_lazy("This could not be read. Reload the page, then send it again.")
BROKEN_PAGE = gettext_lazy("The form on this page is not set up correctly. Contact the owner of the site.")
ROBOT = gettext_lazy(
    "Your browser could not show that you are not a robot. Enable JavaScript, reload the page, then send it again."
)
MESSAGES: Mapping[str, "StrOrPromise"] = {
    "empty_submission": gettext_lazy("The form arrived empty. Fill it in, then send it again."),
    "invalid_json": UNREADABLE,
    "invalid_access_key": BROKEN_PAGE,
    "unauthorized": BROKEN_PAGE,
    "unsupported_media_type": BROKEN_PAGE,
    "method_not_allowed": gettext_lazy("This address takes forms. Open it in a browser."),
    "form_not_published": gettext_lazy("This form does not take submissions now. Contact the owner of the site."),
    "not_found": gettext_lazy("There is no form with this address. Contact the owner of the site."),
    "conflict": gettext_lazy("Something else was sent from this page before. Reload the page, then send it again."),
    "service_unavailable": gettext_lazy(BUSY),
    "payload_too_large": gettext_lazy("This is too much to send. Go back and shorten it, then send it again."),
}
# By the code of a detail, with a place for the field's label.
DETAILS: Mapping[str, "StrOrPromise"] = {
    "file_not_allowed": gettext_lazy(
        "Files cannot be sent with this form. Remove the file from “%(label)s”, then send it again."
    ),
    "too_long": gettext_lazy("“%(label)s” is too long. Shorten it, then send it again."),
    "too_many": gettext_lazy("The form on this page has too many fields. Contact the owner of the site."),
    "malformed": UNREADABLE,
    "invalid_type": UNREADABLE,
    "invalid": UNREADABLE,
    "invalid_id": BROKEN_PAGE,
    "blank": BROKEN_PAGE,
    "proof_of_work_required": ROBOT,
    "too_fast": gettext_lazy("That was quick. Check your answers, then send them again."),
    "captcha_required": gettext_lazy("Please show that you are not a robot, then send again."),
}


def put_for_visitors(failure: ApiError, fields: Sequence[Mapping[str, Any]]) -> None:
    """Replace the texts of an error; `fields`: the form's definitions, whose labels stand for names."""
    declared = {field["name"]: field for field in fields}
    if failure.details:
        failure.details = [_detail(detail, declared.get(detail.field)) for detail in failure.details]
        failure.message = failure.details[0].sentence
    else:
        failure.message = _message(failure)


def _message(failure: ApiError) -> str:
    if failure.code in MESSAGES:
        return str(MESSAGES[failure.code])
    if isinstance(failure, OriginNotAllowed) and failure.page:
        return gettext("This form does not take submissions from %(page)s.") % {"page": failure.page}
    if isinstance(failure, InternalError):
        text = gettext("Internal server error. If it persists, report this request id: %(id)s.")
        return text % {"id": current_request_id()}
    return gettext(failure.message)  # marked where it is written


def _detail(detail: Detail, field: Mapping[str, Any] | None) -> Detail:
    """Return the detail in words for visitors; `field`: the definition, if the form declares one of that name."""
    if field and kind_of(field["type"]).takes_files and detail.code in FILE_CODES:
        # A message without a subject says why a content is refused, whatever the field accepts.
        of_content = f"{field['label']}: {gettext(detail.message)}"
        of_file = message_of(field, detail.code) if detail.has_subject else of_content
        return Detail(detail.field, detail.code, of_file, has_subject=True)
    label = field["label"] if field else detail.field
    of_value = value_message(detail.code)
    text = of_value or DETAILS.get(detail.code)
    if text is None:
        return detail
    is_name = len(detail.field) < MAX_NAME  # a name that is too long says nothing to anybody
    if not is_name and not of_value:  # those are of declared fields only
        text = BROKEN_PAGE
    return Detail(detail.field, detail.code, str(text).replace("%(label)s", label), has_subject=True)
