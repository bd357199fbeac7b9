"""
`POST /api/submit`, the hot path: one look-up, one count, one INSERT, sometimes a nudge (docs/architecture.md).

A DRF view only for the OpenAPI schema and the permission table: requests go straight to the gates, without serializers
and model instances.
"""

import json
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema

from config.api import ratelimit
from config.api.errors import NO_STORE, ApiError, error_response
from config.api.parsing import JSON_MEDIA_TYPE
from config.api.schema import WrittenSchema, enveloped, id_schema, idempotency_key_header, replayed_header
from config.api.views import KeyedView
from config.base.ids import Prefix, encode_id
from config.base.times import format_time
from forms_app.field_definitions import CAPTCHA_FIELDS, CONTROL_FIELDS, MAX_NAME
from forms_app.models import Form
from submissions.receiving.gates import Candidate, Door
from submissions.receiving.insert import Stored
from submissions.receiving.key_and_form import Owner, find_key_and_form
from submissions.receiving.parse_body import MAX_VALUE, Post, read_keyed_json
from submissions.serializers import SubmittedRecord

# With `not` instead of `type` or `anyOf`: some generators make a wrapper class of a choice of types.
# The bound of values is in the description: `maxLength` without a type is a warning of linters.
_SCALAR = {"not": {"type": ["array", "object"], "items": {}}}
_NAME = {"type": "string", "minLength": 1, "maxLength": MAX_NAME, "pattern": r"^\u0000*[^\u0000][\s\S]*$"}
_ANY_VALUE = {"not": {"type": "object"}, "items": _SCALAR}
FORM_ID_SCHEMA = id_schema(Prefix.FORM, may_be_empty=True)


class SubmissionValues(WrittenSchema):
    """The body of a submission. Control fields are not listed as properties: they take any value, as all others."""

    written = {
        "type": "object",
        "description": (
            "Field names and their values. Numbers and booleans are stored as JSON text, lists joined with a comma; a "
            f"value has at most {MAX_VALUE:,} characters then. "
            f"These names control the submission and are not data: {', '.join(sorted(CONTROL_FIELDS))}."
        ),
        "propertyNames": _NAME,
        "minProperties": 1,
        "additionalProperties": _ANY_VALUE,
        "not": {"propertyNames": {"enum": sorted(CONTROL_FIELDS | CAPTCHA_FIELDS)}},
    }


def submitted_record(stored: Stored, form: Form) -> dict[str, str | None]:
    """Return the response's `data`, the same for spam: `{id, formId, createdAt}`."""
    return {
        "id": encode_id(Prefix.SUBMISSION, stored.id),
        "formId": form.public_id,
        "createdAt": format_time(stored.created_at),
    }


class SubmitView(Door, KeyedView):
    """Takes submissions; any valid key may submit."""

    permission_classes = []
    read_post = staticmethod(read_keyed_json)
    find_owner = staticmethod(find_key_and_form)

    def answer(self, candidate: Candidate, stored: Stored) -> HttpResponse:
        """Return the 201, with the plan's limit in its headers. A caught bot sees the same."""
        record = submitted_record(stored, candidate.own_form())
        body = {"success": True, "data": record, "message": stored.message}
        response = HttpResponse(json.dumps(body, ensure_ascii=False), status=201, content_type=JSON_MEDIA_TYPE)
        response.headers["Location"] = f"/api/submissions/{record['id']}"
        response.headers["Cache-Control"] = NO_STORE
        if stored.replayed:
            response.headers["Idempotent-Replayed"] = "true"
        ratelimit.add_headers(response, candidate.usage)
        return response

    def refuse(
        self,
        post: Post,
        failure: ApiError,
        *,
        owner: Owner | None,  # noqa: ARG002  # for doors that show a page of the form
        usage: ratelimit.Usage | None,
    ) -> HttpResponse:
        """Return the error envelope. Without a count (503) the address's is used, as every response has headers."""
        response = error_response(failure)
        ratelimit.add_headers(response, usage or ratelimit.count_address(post.request))
        return response

    @extend_schema(
        operation_id="submitForm",
        parameters=[
            OpenApiParameter(
                "formId", FORM_ID_SCHEMA, description="The form; the organization's default form without it."
            ),
            idempotency_key_header(),
            replayed_header(),
        ],
        request=SubmissionValues,
        responses={201: enveloped(SubmittedRecord)},
    )
    def post(self, request: HttpRequest, *_args: Any, **_kwargs: Any) -> HttpResponse:
        """Store a submission: a JSON object of field names and values."""
        return self.receive(request)

    dispatch = post  # for any method, because a gate answers others; a request would pay for DRF's


urlpatterns = [path("submit", SubmitView.as_view(), name="submit")]
