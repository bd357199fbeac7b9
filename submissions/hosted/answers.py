"""JSON answers to plain posts, in the shapes of Formspree's clients, and who gets them (docs/contract.md 6.12)."""

from typing import Any

from django.http import HttpRequest, JsonResponse

from config.api.errors import ApiError
from config.api.parsing import JSON_MEDIA_TYPE
from forms_app.models import Form
from submissions.hosted.bodies import is_json
from submissions.receiving.api import submitted_record
from submissions.receiving.insert import Stored

# Our codes -> those that @formspree/core knows; others stay ours.
FORM_CODES = {
    "empty_submission": "EMPTY",
    "not_found": "FORM_NOT_FOUND",
    "form_not_published": "INACTIVE",
    "suspended": "INACTIVE",
    "origin_not_allowed": "BLOCKED",
}
FIELD_CODES = {
    "required": "REQUIRED_FIELD_MISSING",
    "invalid_email": "TYPE_EMAIL",
    "invalid_number": "TYPE_NUMERIC",
    "invalid_type": "TYPE_TEXT",
    "file_not_allowed": "NO_FILE_UPLOADS",
}
# Problems of the page rather than of an input: shown at the form, as Formspree's clients know them.
OF_THE_FORM = {
    *("file_not_allowed", "captcha_required", "proof_of_work_required", "too_fast"),
    *("invalid", "invalid_id", "malformed", "blank"),
}


def wants_json(request: HttpRequest, raw_body: bytes = b"") -> bool:
    """Return whether to answer with JSON: it was requested or sent, or a script of the page has sent the request."""
    headers = request.META
    accepted = headers.get("HTTP_ACCEPT", "").lower()
    if JSON_MEDIA_TYPE in accepted or "HTTP_X_REQUESTED_WITH" in headers or is_json(request, raw_body):
        return True
    is_script = headers.get("HTTP_SEC_FETCH_DEST", "").lower() == "empty"
    return is_script and "HTTP_HX_REQUEST" not in headers and "text/html" not in accepted


def success_json(stored: Stored, form: Form, *, next_page: str) -> JsonResponse:
    """Return `{success, ok, data, message, next}`; `next` is never empty."""
    body = {
        "success": True,
        "ok": True,
        "data": submitted_record(stored, form),
        "message": stored.message,
        "next": next_page,
    }
    response = JsonResponse(body, status=201)
    if stored.replayed:
        response.headers["Idempotent-Replayed"] = "true"
    return response


def error_json(error: ApiError) -> JsonResponse:
    """Return `{success, error, message, errors}` with at least one of `{code, field?, message}` in `errors`."""
    body = {"success": False, "error": error.code, "message": error.message, "errors": errors_of(error)}
    return JsonResponse(body, status=error.status, headers=error.headers)


def errors_of(error: ApiError) -> list[dict[str, Any]]:
    """Return an error's problems with Formspree's codes."""
    if not error.details:
        return [{"code": FORM_CODES.get(error.code, error.code), "message": error.message}]
    return [
        {
            "code": FIELD_CODES.get(detail.code, detail.code),
            **({"field": detail.field} if detail.field and detail.code not in OF_THE_FORM else {}),
            "message": detail.sentence,
        }
        for detail in error.details
    ]
