"""
Files by themselves, before the submission that names their ids (docs/contract.md 11).

`POST /f/{formId}/uploads` is for visitors of a page, `POST /api/uploads` for secret keys. Both take one file as
multipart and answer in the envelope. The checks of the first are those of `/f/`, but a file does not count against the
hour, and one proof of a human is good for the files of a form and then for its submission.
"""

import datetime as dt
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.urls import path
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from config.api import ratelimit
from config.api.errors import (
    NO_STORE,
    ApiError,
    FormNotPublished,
    MethodNotAllowed,
    NotFound,
    QuotaExceeded,
    RateLimited,
    Suspended,
    UnsupportedMediaType,
    as_api_error,
    error_response,
    invalid,
    logged_once,
)
from config.api.filters import refuse_unknown_parameters
from config.api.find_owned import find_owned
from config.api.parsing import media_type
from config.api.schema import WrittenSchema, enveloped, id_schema
from config.api.views import success
from config.base.client_address import client_address, client_network
from config.base.ids import Prefix
from forms_app.field_definitions import MAX_NAME, FieldDefinition
from forms_app.field_kinds import kind_of
from forms_app.models import Form
from forms_app.spam_protection import SpamProtection
from keys.authentication import caller_key
from keys.idempotency import REPLAYED, Repeatable
from keys.permissions import IsSecretKey
from submissions.files.arrived import Arrived, Checked
from submissions.files.checks import NOT_ALLOWED, check_file, most_files
from submissions.files.keeping import give_up, keep_files
from submissions.hosted.bodies import MULTIPART, read_form_body
from submissions.hosted.find import find_form
from submissions.hosted.mode_keys import find_test_key
from submissions.hosted.page_texts import put_for_visitors
from submissions.models import StoredFile
from submissions.receiving import captchas, proof_of_work
from submissions.receiving.page_limits import refuse_upload
from submissions.receiving.parse_body import Body, parse_form_id
from submissions.receiving.refused import NOT_AVAILABLE, NOT_OPEN
from submissions.refusals.recorder import note_refusal

FIELD, FILE, FORM = "field", "file", "formId"  # the parts of the body
KEPT = "The file is kept. Send its id as the value of the field."


class UploadRecord(serializers.Serializer[Any]):
    """A file that was sent by itself."""

    schema_name = "Upload"
    texts = {
        "id": "Its id, the value of the field in the submission.",
        "field": "The field of the form.",
        "name": "Its name, without characters that systems cannot store or that disguise it.",
        "size": "Bytes.",
        "type": "The media type of its content.",
        "sha256": "The SHA-256 of its content, in hexadecimal.",
    }
    id = serializers.CharField(source="public_id")
    field = serializers.CharField()
    name = serializers.CharField()
    size = serializers.IntegerField()
    type = serializers.CharField(source="content_type")
    sha256 = serializers.CharField()


class UploadBody(WrittenSchema):
    """A file, and where it belongs."""

    written = {
        "type": "object",
        "description": "A file, and the form and the field that it is for.",
        "properties": {
            FORM: {**id_schema(Prefix.FORM), "description": "The form."},
            FIELD: {
                "type": "string",
                "minLength": 1,
                "maxLength": MAX_NAME,
                "description": "The name of one of its File fields.",
            },
            FILE: {"type": "string", "format": "binary", "description": "The file."},
        },
        "required": [FORM, FIELD, FILE],
        "additionalProperties": False,
    }


@method_decorator(csrf_exempt, name="dispatch")  # pages of any origin post here, and no cookie is read
class HostedUpload(View):
    """Takes a file of a visitor."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Return the 405 for other methods, OPTIONS without a preflight among them."""
        if request.method != "POST":
            return error_response(MethodNotAllowed("Send a file with POST.", headers={"Allow": "POST, OPTIONS"}))
        return super().dispatch(request, *args, **kwargs)

    def post(self, request: HttpRequest, form_id: str) -> HttpResponse:
        """Store the file. Every answer is JSON."""
        form = None
        try:
            form = find_form(form_id)
            if form is None:
                raise NotFound
            row = _take_of_page(request, form)
        except Exception as error:  # the same mapping as DRF's handler, for the same reasons
            failure = as_api_error(error)
            answered = _counted(request, failure, form)
            put_for_visitors(answered, form.fields if form else [])
            return logged_once(error_response(answered), failure)
        body = {"success": True, "data": UploadRecord(row).data, "message": KEPT}
        response = JsonResponse(body, status=201)
        response.headers["Cache-Control"] = NO_STORE
        return response


def _take_of_page(request: HttpRequest, form: Form) -> StoredFile:
    """Take a visitor's file through the gates and store it."""
    organization = form.organization
    if form.is_unavailable:
        raise Suspended(NOT_AVAILABLE)
    is_test = find_test_key(request, form) is not None
    refusal = refuse_upload(request, form, is_test=is_test)
    if refusal:
        raise refusal
    with _read(request) as body:
        if organization.is_full:
            raise QuotaExceeded(NOT_AVAILABLE)
        if form.status != Form.Status.PUBLISHED:
            raise FormNotPublished(NOT_OPEN)
        file = _checked(form.fields, body)
        if file.arrived.size > organization.room_for_files:
            raise QuotaExceeded(NOT_AVAILABLE)
        proofs = {name: value for name, value in body.fields.items() if isinstance(value, str)}
        _require_human(request, form, proofs, is_test=is_test)
        return _keep(request, form, file)


def _require_human(request: HttpRequest, form: Form, proofs: Mapping[str, str], *, is_test: bool) -> None:
    """Refuse a file without the proofs that the form requires. A proof is good for as many files as the form takes."""
    protection = SpamProtection.of(form.spam_protection)
    most = sum(most_files(field) for field in form.fields if kind_of(field["type"]).takes_files)
    if protection.captcha and protection.captcha_secret and is_test:
        captchas.refuse_failed_test(protection, proofs)
    elif protection.captcha and protection.captcha_secret:
        address = client_address(request)
        captchas.require_pass_of_upload(protection, proofs, form_id=form.id, address=address, most=most)
    if protection.proof_of_work:
        purposes = (form.public_id, "")
        proof_of_work.require_proof_of_upload(proofs, purposes=purposes, most=most)


def _counted(request: HttpRequest, failure: ApiError, form: Form | None) -> ApiError:
    """Count a refusal against the address, note it for the owner, and return what to answer."""
    if failure.status < 500:
        address = ratelimit.count_address(request)
        if address.is_over and not isinstance(failure, Suspended):  # which comes before every limit
            failure = address.refusal()
    if isinstance(failure, RateLimited):
        failure.message = ratelimit.BUSY
    note_refusal(
        request, failure, organization_id=form.organization_id if form else None, form_id=form.id if form else None
    )
    return failure


class UploadView(Repeatable):
    """Takes a file of a server."""

    http_method_names = ["post"]
    permission_classes = [IsSecretKey]
    test_actions = ("post",)

    @extend_schema(
        operation_id="uploadFile",
        summary="Upload a file",
        request={MULTIPART: UploadBody},
        responses={201: enveloped(UploadRecord)},
    )
    def post(self, request: Request) -> Response:
        """Keep a file for a submission that is sent later, for 7 days. The submission names its id, once."""
        plain = request._request
        key = caller_key(request)
        kept: list[StoredFile] = []
        with _read(plain) as body:
            refuse_unknown_parameters(request.query_params, [])
            self.sha256 = body.digest()
            form = find_owned(Form.objects.all(), parse_form_id(body.fields.get(FORM, "")), self.organization_id)
            if key.organization.is_full:
                raise QuotaExceeded
            if form.status != Form.Status.PUBLISHED:
                raise FormNotPublished
            file = _checked(form.fields, body, more=[FORM])
            if file.arrived.size > key.organization.room_for_files:
                raise QuotaExceeded

            def keep() -> None:  # outside the transaction of the answer: its row is committed before its bytes
                if not kept:
                    kept.append(_keep(plain, form, file))

            answer = None
            try:
                answer = self.once(lambda: _created(kept[0]), before=keep)
            finally:
                if answer is None or REPLAYED in answer.headers:  # another request with this key was quicker
                    give_up(kept)
        return answer

    def sent_sha256(self) -> str:
        """Return the digest of the parts."""
        return self.sha256


def _created(row: StoredFile) -> Response:
    """Return the 201; its Location answers once a submission has the file."""
    return success(UploadRecord(row).data, KEPT, status=201, headers={"Location": f"/files/{row.public_id}"})


@contextmanager
def _read(request: HttpRequest) -> Iterator[Body]:
    """Yield the body; its files are closed afterwards. Raises UnsupportedMediaType, PayloadTooLarge and others."""
    if media_type(request) != MULTIPART:
        raise UnsupportedMediaType(f"Send the file as {MULTIPART}.")
    body = read_form_body(request)
    try:
        yield body
    finally:
        for file in body.files:
            file.content.close()


def _checked(fields: list[Any], body: Body, *, more: list[str] | None = None) -> Checked:
    """Return the file of a body, which fits its field. Raises ValidationFailed. `more`: other names that are known."""
    if more is not None:
        for name in body.fields:
            if name not in (FIELD, *more):
                raise invalid(name[:MAX_NAME], "unknown_field", "is not known here. Send formId, field and file.")
    field, file = _field_of(fields, body), _file_of(body)
    return check_file(field, file)


def _file_of(body: Body) -> Arrived:
    if not body.files or any(file.field != FILE for file in body.files):
        raise invalid(FILE, "required", "is required. Send the file under this name.")
    if len(body.files) > 1:
        raise invalid(FILE, "too_many", "must be one file. Send each file by itself.")
    return body.files[0]


def _field_of(fields: list[Any], body: Body) -> FieldDefinition:
    """Return the File field that is named. Raises ValidationFailed."""
    name = body.fields.get(FIELD)
    if not isinstance(name, str) or not name:
        raise invalid(FIELD, "required", "is required: the name of a File field of the form.")
    for field in fields:
        if field["name"] == name and kind_of(field["type"]).takes_files:
            found: FieldDefinition = field
            return found
    raise invalid(name[:MAX_NAME], NOT_ALLOWED, "takes no files. Only declared File fields do.")


def _keep(request: HttpRequest, form: Form, file: Checked) -> StoredFile:
    [row] = keep_files(
        [file],
        organization_id=form.organization_id,
        form_id=form.pk,
        kept=dt.timedelta(days=settings.FILES_UNUSED_DAYS),
        address=client_network(request),
        is_by_itself=True,
    )
    return row


urlpatterns = [path("uploads", UploadView.as_view(), name="uploads")]
