"""
Every error of the API: raised anywhere as an ApiError, turned into the envelope here (docs/contract.md 1).
"""

import dataclasses
import logging
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import structlog
from django.core.exceptions import RequestDataTooBig
from django.http import Http404, HttpResponse, HttpResponseBase, JsonResponse
from django.utils.translation import gettext, gettext_noop
from rest_framework import exceptions as drf
from rest_framework.response import Response

from config.api.current_request import current_request
from config.base.database import drop_broken_connections, is_away
from config.outage import OUTAGE

logger = logging.getLogger(__name__)
Answer = TypeVar("Answer", bound=HttpResponseBase)

NO_STORE = "no-store"  # the Cache-Control of every error, and of every answer of a path that needs a key
RETRY_AFTER_SECONDS = 2  # for 503: a restarted database is usually back by then


@dataclasses.dataclass(frozen=True, slots=True)
class Detail:
    """
    One invalid value: the field's name (or parameter, or path), a short code, and what to do about it.

    `message` leaves the field out, for display at its input. `has_subject`: it is a whole sentence that names its
    subject itself, such as the field's label.
    """

    field: str
    code: str
    message: str
    has_subject: bool = False

    @property
    def sentence(self) -> str:
        """The message for display apart from the input: `field: message`."""
        return self.message if self.has_subject or not self.field else f"{self.field}: {self.message}"

    def body(self) -> dict[str, str]:
        """Return `{field, code, message}` for the envelope."""
        return {"field": self.field, "code": self.code, "message": self.sentence}


class ApiError(Exception):
    """An error response. Subclasses set `status` (HTTP) and `code` (the envelope's `error`)."""

    status = 500
    code = "internal_error"
    message = gettext_noop("Something went wrong.")  # of a class: marked here, translated when it is raised
    reason = ""  # distinguishes causes that share a code, for the dashboard; never sent
    is_logged = False  # whether `as_api_error` has written a line about it

    def __init__(self, message: str = "", *, headers: Mapping[str, str] | None = None) -> None:
        self.message = message or gettext(self.message)
        super().__init__(self.message)
        self.headers = dict(headers or {})
        self.details: list[Detail] = []

    @property
    def field_message(self) -> str:
        """The message for display at its input, without the field's name."""
        return self.details[0].message if self.details else self.message

    def body(self) -> dict[str, Any]:
        """Return the envelope `{success, error, message, details?}`."""
        body: dict[str, Any] = {"success": False, "error": self.code, "message": self.message}
        if self.details:
            body["details"] = [detail.body() for detail in self.details]
        return body


class InvalidJson(ApiError):
    status, code, message = 400, "invalid_json", gettext_noop("The body must be one JSON object.")


class ValidationFailed(ApiError):
    """One or more invalid values; `message` is the sentence of the first of `details`."""

    status, code = 400, "validation_error"

    def __init__(self, details: Iterable[Detail]) -> None:
        self_details = list(details)
        super().__init__(self_details[0].sentence)
        self.details = self_details


class EmptySubmission(ApiError):
    status, code = 400, "empty_submission"
    message = gettext_noop("The submission has no values. Send at least one field besides the control fields.")


class InvalidAccessKey(ApiError):
    status, code, message = 401, "invalid_access_key", gettext_noop("Invalid or missing access key")

    def __init__(self) -> None:
        super().__init__(headers={"WWW-Authenticate": "AccessKey"})


class Forbidden(ApiError):
    status, code, message = 403, "forbidden", gettext_noop("Forbidden")


class Unauthorized(ApiError):
    status, code, message = 403, "unauthorized", gettext_noop("Unauthorized")


class Suspended(ApiError):
    status, code = 403, "suspended"
    message = gettext_noop(
        "The operator of this service has suspended this organization. Its dashboard shows the reason."
    )


class PlanRequired(ApiError):
    status, code = 403, "plan_required"


class FormNotPublished(ApiError):
    status, code = 403, "form_not_published"
    message = gettext_noop("This form does not take submissions now. Publish it first.")


class OriginNotAllowed(ApiError):
    status, code = 403, "origin_not_allowed"

    def __init__(self, message: str = "", *, page: str = "") -> None:
        """`page`: the origin that the message names, if it names one."""
        super().__init__(f"This form does not take submissions from {page}." if page else message)
        self.page = page


class NotFound(ApiError):
    status, code, message = 404, "not_found", gettext_noop("There is nothing here. Check the path and the id.")


class MethodNotAllowed(ApiError):
    status, code = 405, "method_not_allowed"


class Conflict(ApiError):
    status, code = 409, "conflict"


class PreconditionFailed(ApiError):
    """`If-Match` or `If-None-Match` does not hold: see `config/api/etags.py`."""

    status, code = 412, "precondition_failed"


class PayloadTooLarge(ApiError):
    status, code = 413, "payload_too_large"
    message = gettext_noop("The body is larger than 256 KiB. Send less.")


class QuotaExceeded(ApiError):
    status, code = 413, "quota_exceeded"
    message = gettext_noop(
        "The stored bytes of the plan are used up. Delete submissions or change the plan, then send again."
    )


class UnsupportedMediaType(ApiError):
    status, code = 415, "unsupported_media_type"
    message = gettext_noop("Send the body as JSON, with the header Content-Type: application/json.")


class RateLimited(ApiError):
    status, code = 429, "rate_limited"


class InternalError(ApiError):
    """A bug. The message has the request id and no internal detail."""

    def __init__(self) -> None:
        text = gettext("Internal server error. If it persists, report this request id: %(id)s.")
        super().__init__(text % {"id": current_request_id()})


class ServiceUnavailable(ApiError):
    status, code = 503, "service_unavailable"
    # True as well of a failed COMMIT, which may have stored the request.
    message = gettext_noop(
        "The service is busy or restarting. Try again in a moment; an Idempotency-Key prevents storing it twice."
    )

    def __init__(self) -> None:
        super().__init__(headers={"Retry-After": str(RETRY_AFTER_SECONDS)})


def invalid(field: str, code: str, message: str, *, has_subject: bool = False) -> ValidationFailed:
    """Return a ValidationFailed with one Detail."""
    return ValidationFailed([Detail(field, code, message, has_subject)])


def current_request_id() -> str:
    """Return the id of the current request, bound by FieldpostMiddleware."""
    return str(structlog.contextvars.get_contextvars().get("request_id", "unknown"))


def as_api_error(error: BaseException) -> ApiError:
    """Return the ApiError for any exception. Unknown ones are logged with their traceback."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, Http404 | drf.NotFound):
        return NotFound()
    if isinstance(error, drf.MethodNotAllowed):
        return MethodNotAllowed(str(error.detail))
    if isinstance(error, RequestDataTooBig):
        return PayloadTooLarge()
    if isinstance(error, drf.UnsupportedMediaType):
        return UnsupportedMediaType()
    if is_away(error):
        OUTAGE.note(error, refused=1, request=_request_line())
        drop_broken_connections()
        return _logged(ServiceUnavailable())
    logger.error("internal error", exc_info=error, extra=_request_line())
    return _logged(InternalError())


def _request_line() -> dict[str, str]:
    """Return method and path with query of the current request, for a log line."""
    request = current_request()
    return {"method": str(request.method), "path": request.get_full_path()} if request else {}


def _logged(failure: ApiError) -> ApiError:
    failure.is_logged = True
    return failure


def logged_once(response: Answer, failure: ApiError) -> Answer:
    """Return the response, marked for Django as logged if our line, which says more, is written."""
    if failure.is_logged:
        response._has_been_logged = True  # type: ignore[attr-defined]  # read by django.utils.log.log_response
    return response


def handle_exception(error: Exception, _context: Mapping[str, Any]) -> Response:
    """DRF's EXCEPTION_HANDLER."""
    failure = as_api_error(error)
    return logged_once(Response(failure.body(), status=failure.status, headers=failure.headers), failure)


def error_response(error: BaseException) -> HttpResponse:
    """Return the envelope outside DRF: in middleware, plain views and Django's error handlers."""
    failure = as_api_error(error)
    response = JsonResponse(failure.body(), status=failure.status, headers=failure.headers)
    response.headers["Cache-Control"] = NO_STORE
    return logged_once(response, failure)


def not_found() -> HttpResponse:
    return error_response(NotFound())
