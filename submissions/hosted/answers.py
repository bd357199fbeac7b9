"""JSON responses of `/f/{formId}`, in the shapes that Formspree's clients read (docs/contract.md 6)."""

from typing import Any

from django.http import HttpRequest, JsonResponse

from config.api.errors import ApiError
from config.api.parsing import JSON_MEDIA_TYPE, media_type
from submissions.receiving.api import submitted_record
from submissions.receiving.insert import Stored
from submissions.receiving.key_and_form import SubmitForm

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


def wants_json(request: HttpRequest) -> bool:
    """Return whether to answer with JSON: it was requested, or sent."""
    return JSON_MEDIA_TYPE in request.META.get("HTTP_ACCEPT", "").lower() or media_type(request) == JSON_MEDIA_TYPE


def success_json(stored: Stored, form: SubmitForm, *, next_page: str) -> JsonResponse:
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
            **({"field": detail.field} if detail.field else {}),
            "message": detail.sentence,
        }
        for detail in error.details
    ]
