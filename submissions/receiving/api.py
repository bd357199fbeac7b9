"""
`POST /api/submit`, the hot path: one look-up, one count, one INSERT, now and then a nudge (ARCHITECTURE).

A view of DRF in name only, so that the schema and the permission table know it: it overrides `dispatch` and pays for
neither serializers nor model instances. The gates and their order are those of every other endpoint.
"""

import json
import uuid
from typing import Any, NoReturn

from django.http import HttpRequest, HttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from config.api import ratelimit
from config.api.errors import (
    ApiError,
    InvalidAccessKey,
    MethodNotAllowed,
    NotFound,
    Unauthorized,
    UnsupportedMediaType,
    ValidationFailed,
    as_api_error,
    error_response,
)
from config.api.parsing import JSON_MEDIA_TYPE, media_type, parse_object, read_body
from config.api.schema import enveloped, id_schema
from config.api.views import KeyedView
from config.ids import Prefix, encode_id
from config.nudge import DELIVER, nudge
from config.times import format_time
from forms_app.field_definitions import CAPTCHA_FIELDS, CONTROL_FIELDS, MAX_NAME
from keys import tokens
from keys.authentication import META_NAME, note_use_safely
from submissions.receiving.gates import MAX_IDEMPOTENCY_KEY, Circumstances, accept, idempotency_key
from submissions.receiving.insert import Stored
from submissions.receiving.key_and_form import Found, FoundForm, find_key_and_form
from submissions.receiving.page_limits import refuse_page
from submissions.receiving.parse_body import MAX_VALUE, parse_form_id, take_in
from submissions.refusals.recorder import note_refusal
from submissions.serializers import SubmittedRecord

_SCALARS = ["string", "number", "boolean", "null"]
_ANY_VALUE = {
    "anyOf": [
        {"type": _SCALARS, "maxLength": MAX_VALUE},
        {"type": "array", "items": {"type": _SCALARS, "maxLength": MAX_VALUE}},
    ]
}
FORM_ID_SCHEMA = id_schema(Prefix.FORM, may_be_empty=True)
SUBMITTED_BODY = {
    "type": "object",
    "description": "Field names and their values. Names that begin with an underscore here steer the submission.",
    "properties": {
        "_formId": {"description": "The form, instead of `?formId=`.", **FORM_ID_SCHEMA, "type": ["string", "null"]},
        **dict.fromkeys(sorted(CONTROL_FIELDS - {"_formId"}), _ANY_VALUE),
    },
    "propertyNames": {"minLength": 1, "maxLength": MAX_NAME, "pattern": r"[^\u0000]"},
    "minProperties": 1,
    "additionalProperties": _ANY_VALUE,
    "not": {"propertyNames": {"enum": sorted(CONTROL_FIELDS | CAPTCHA_FIELDS)}},
}


class Attempt:
    """One request to submit: what was read of it, whose it is, what it has been counted against."""

    def __init__(self, request: HttpRequest) -> None:
        self.request = request
        self.usage: ratelimit.Usage | None = None
        self.raw_body = b""
        self.body: dict[str, Any] = {}
        self.body_error: ApiError | None = None
        self.form_id: uuid.UUID | None = None
        self.found: Found | None = None

    def answer(self) -> HttpResponse:
        """Go through the gates in their order; the first that fails raises."""
        if not tokens.is_well_formed(self.request.META.get(META_NAME, "")):
            self.form_id, _ = self._form_id()
            # Before the body is read: a stranger must not hold a thread by sending it slowly.
            self._refuse_at_address(InvalidAccessKey())
        self._read_body()
        form_id, form_id_error = self._form_id()
        self.form_id = form_id
        found = self.found = self._authenticate(form_id)
        own_form = found.form if found.form and found.form.organization_id == found.organization_id else None
        self._count(found, own_form)
        if self.request.method != "POST":
            raise MethodNotAllowed("Submit with POST.", headers={"Allow": "POST, OPTIONS"})
        if self.body_error:
            raise self.body_error
        intake = take_in(self.body)
        key = idempotency_key(self.request)
        if form_id_error:
            raise form_id_error
        if found.form is None:
            raise NotFound("There is no form with this id.")
        if own_form is None:
            raise Unauthorized
        is_from_page = found.is_publishable or "HTTP_ORIGIN" in self.request.META
        stored = accept(own_form, intake, Circumstances(self.request, self.raw_body, key, is_from_page))
        nudge(DELIVER)
        return created(stored, own_form)

    def _read_body(self) -> None:
        """Read the body, and keep what is wrong with it until its turn: it may name the form the look-up needs."""
        if self.request.method != "POST":
            return
        try:
            self.raw_body = read_body(self.request)
            if media_type(self.request) != JSON_MEDIA_TYPE:
                raise UnsupportedMediaType
            self.body = parse_object(self.raw_body, numbers_as_text=True)
        except ApiError as error:
            self.body_error = error

    def _form_id(self) -> tuple[uuid.UUID | None, ApiError | None]:
        named = self.request.GET.get("formId") or self.body.get("_formId")
        try:
            return (None if named in (None, "") else parse_form_id(named)), None
        except ValidationFailed as error:
            return None, error

    def _authenticate(self, form_id: uuid.UUID | None) -> Found:
        found = find_key_and_form(digest=tokens.digest(self.request.META[META_NAME]), form_id=form_id)
        if found is None:
            self._refuse_at_address(InvalidAccessKey())
        return found

    def _count(self, found: Found, form: FoundForm | None) -> None:
        """Count against the organization, or, for a page that is refused, against its visitor's address alone."""
        from_page = "HTTP_ORIGIN" in self.request.META
        if from_page or found.is_publishable:
            secret_key = not found.is_publishable
            refusal = refuse_page(self.request, form, organization_id=found.organization_id, secret_key=secret_key)
            if refusal:
                self._refuse_at_address(refusal)
        self.usage = ratelimit.count_organization(self.request, str(found.organization_id), found.hourly_limit)
        if self.usage.is_over:
            raise self.usage.refusal()
        secret_in_page = from_page and not found.is_publishable
        if not found.was_used_lately or (secret_in_page and not found.was_in_page_lately):
            note_use_safely(found.key_id, from_browser=secret_in_page)

    def note(self, failure: ApiError) -> None:
        """Note for its owner why this was refused."""
        found = self.found
        note_refusal(
            self.request,
            failure,
            organization_id=found.organization_id if found else None,
            form_id=found.form.id if found and found.form else self.form_id,
            key_id=found.key_id if found else None,
        )

    def _refuse_at_address(self, refusal: ApiError) -> NoReturn:
        self.usage = ratelimit.count_address(self.request)
        if self.usage.is_over:
            refusal = self.usage.refusal()
            refusal.reason = "address"  # not the plan's hour
        raise refusal


def submitted_record(stored: Stored, form: FoundForm) -> dict[str, str | None]:
    """Return what submitting tells, spam or not: `{id, formId, createdAt}`."""
    return {
        "id": encode_id(Prefix.SUBMISSION, stored.id),
        "formId": encode_id(Prefix.FORM, form.id),
        "createdAt": format_time(stored.created_at),
    }


def created(stored: Stored, form: FoundForm) -> HttpResponse:
    """Return the 201. A caught bot sees the same."""
    body = {"success": True, "data": submitted_record(stored, form), "message": stored.message}
    response = HttpResponse(json.dumps(body, ensure_ascii=False), status=201, content_type=JSON_MEDIA_TYPE)
    if stored.replayed:
        response.headers["Idempotent-Replayed"] = "true"
    return response


class SubmitView(KeyedView):
    """Takes submissions; any valid key may submit."""

    permission_classes = []

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Answer without DRF's machinery."""
        attempt = Attempt(request)
        try:
            response = attempt.answer()
        except Exception as error:  # the same mapping as DRF's handler, for the same reasons
            failure = as_api_error(error)
            attempt.note(failure)
            response = error_response(failure)
        ratelimit.add_headers(response, attempt.usage or ratelimit.count_address(request))
        return response

    @extend_schema(
        operation_id="submit",
        parameters=[
            OpenApiParameter(
                "formId", FORM_ID_SCHEMA, description="The form; the organization's default form without it."
            ),
            OpenApiParameter(
                "Idempotency-Key",
                {"type": "string", "maxLength": MAX_IDEMPOTENCY_KEY, "pattern": "^[!-~]([ -~]*[!-~])?$"},
                OpenApiParameter.HEADER,
                description="Makes retries safe: the same key and body store one submission.",
            ),
        ],
        request={JSON_MEDIA_TYPE: SUBMITTED_BODY},
        responses={201: enveloped(SubmittedRecord)},
    )
    def post(self, request: Request) -> Response:
        """Store a submission: a JSON object of field names and values."""
        raise AssertionError("dispatch answers")
