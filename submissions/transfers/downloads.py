"""
`GET /files/{id}`: the bytes of a file, for keys that read submissions, and for members of the organization.

Outside `/api/`, so that a link in a record works in a browser too. Strangers have sent these bytes: they are always an
attachment, never of a type that a browser runs, and with FILES_ORIGIN they come from another origin, by a link that is
signed for 5 minutes.
"""

import re
from collections.abc import Iterator
from typing import IO
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.core.signing import BadSignature, TimestampSigner
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect, StreamingHttpResponse
from django.utils.translation import gettext_noop
from django.views.decorators.csrf import csrf_exempt
from rest_framework.request import Request

from config.api.errors import (
    ApiError,
    MethodNotAllowed,
    NotFound,
    Unauthorized,
    as_api_error,
    error_response,
    logged_once,
)
from config.api.views import KeyedView
from config.base.ids import InvalidId, Prefix, decode_id
from keys.authentication import META_NAME, caller_key
from keys.models import Membership, Permission, User
from keys.organizations import has_second_step
from keys.seen_forms import SeenForms
from submissions.files import storage
from submissions.files.names import content_disposition
from submissions.models import StoredFile, Submission

SIGNED_SECONDS = 300
SIGNATURE = "signature"  # the parameter of a signed address
CHUNK = 64 * 1024
POLICY = "sandbox; default-src 'none'"
CACHED = "private, no-store"
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")
# A browser that ignores `attachment` must not run it. Types of stored files are never of these: a second lock.
_RUNNABLE = re.compile(r"text/html|application/xhtml|image/svg|.*xml|.*javascript|.*ecmascript|text/css")
_MEDIA_TYPE = re.compile(r"[a-z]+/[a-z0-9.+-]+")
_signer = TimestampSigner(salt="submissions.transfers.downloads")


class FileWithheld(ApiError):
    status, code = 403, "file_withheld"
    message = gettext_noop("This file is withheld: it contains malware, or has not been scanned yet.")


@csrf_exempt  # other methods answer 405 and are not asked for a token
def send_file(request: HttpRequest, file_id: str) -> HttpResponseBase:
    """Send a file, or redirect to it. Errors are in the envelope; a browser without a login is sent to log in."""
    try:
        if request.method not in ("GET", "HEAD"):
            raise MethodNotAllowed("Read a file with GET.", headers={"Allow": "GET, HEAD"})
        if _is_on_own_origin(request):
            row = _find(file_id)
            _require_signature(request, row)
            return _bytes(request, row)
        if META_NAME not in request.META:
            if isinstance(request.user, User):
                return _released(request, _for_member(request.user, file_id))
            if "text/html" in request.META.get("HTTP_ACCEPT", ""):
                return redirect_to_login(request.get_full_path())
    except Exception as error:  # the same mapping as DRF's handler, for the same reasons
        failure = as_api_error(error)
        return logged_once(error_response(failure), failure)
    return FileForKey.as_view()(request, file_id=file_id)


class FileForKey(KeyedView):
    """A file for a key that reads submissions; the refusal of a caller without a key."""

    resource = "submissions"
    action = "read"
    permission_for = {"read": Permission.SUBMISSIONS_READ}
    test_actions = ("read",)
    is_made_small = False  # browsers save the bytes as they are stored

    def get(self, request: Request, file_id: str) -> HttpResponseBase:
        row = _find(file_id)
        if row.organization_id != self.organization_id:
            raise NotFound
        own = Submission.objects.filter(pk__in=[row.submission_id])
        if caller_key(request).is_test and not own.of_mode(test=True).exists():
            raise Unauthorized
        return _released(request._request, row)


def _released(request: HttpRequest, row: StoredFile) -> HttpResponseBase:
    _require_released(row)
    return _redirect(row) or _bytes(request, row)


def _for_member(user: User, file_id: str) -> StoredFile:
    """Return a file of a form that the user sees. Raises NotFound."""
    row = _find(file_id)
    memberships = Membership.objects.select_related("organization")
    membership = memberships.filter(user=user, organization=row.organization_id).first()
    if membership is None or not SeenForms.of(membership).includes(row.form_id):
        raise NotFound
    if membership.organization.second_step_required and not has_second_step(user):
        raise NotFound
    return row


def _find(file_id: str) -> StoredFile:
    """Return the file of a submission. Raises NotFound: also for one that no submission uses."""
    try:
        pk = decode_id(Prefix.FILE, file_id)
    except InvalidId:
        raise NotFound from None
    row = StoredFile.objects.filter(pk=pk, submission_id__isnull=False, removed_at=None).first()
    if row is None:
        raise NotFound
    return row


def _require_released(row: StoredFile) -> None:
    """Refuse a file that has malware, or, with a scanner, one that it has not seen yet (403)."""
    is_pending = bool(settings.CLAMD_URL) and row.scan == StoredFile.Scan.PENDING
    if is_pending or row.scan == StoredFile.Scan.INFECTED:
        raise FileWithheld


def _redirect(row: StoredFile) -> HttpResponse | None:
    """Return a redirect to where the storage sends the file, or to the origin of files; None if we send it here."""
    target = storage.direct_url(row)
    if target is None and settings.FILES_ORIGIN:
        signature = _signer.sign(row.public_id).partition(":")[2]
        target = f"{settings.FILES_ORIGIN}/files/{row.public_id}?{SIGNATURE}={signature}"
    if target is None:
        return None
    response = HttpResponseRedirect(target)
    response.headers["Cache-Control"] = CACHED
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


def _is_on_own_origin(request: HttpRequest) -> bool:
    return bool(settings.FILES_ORIGIN) and request.get_host().lower() == urlsplit(settings.FILES_ORIGIN).netloc.lower()


def _require_signature(request: HttpRequest, row: StoredFile) -> None:
    """Refuse an address of the origin of files that we did not sign, or more than 5 minutes ago (404)."""
    try:
        _signer.unsign(f"{row.public_id}:{request.GET.get(SIGNATURE, '')}", max_age=SIGNED_SECONDS)
    except BadSignature:
        raise NotFound from None
    _require_released(row)


def _bytes(request: HttpRequest, row: StoredFile) -> HttpResponseBase:
    """Return the bytes as an attachment, or the part of them that the request asks for (RFC 9110, 14)."""
    try:
        content = storage.open_file(row.pk)
    except FileNotFoundError:
        raise NotFound from None
    headers = _guards(row)
    part = _part(request.META.get("HTTP_RANGE", "") if request.method == "GET" else "", row.size)
    if part == ():
        content.close()
        return HttpResponse(status=416, headers=headers | {"Content-Range": f"bytes */{row.size}"})
    first, last = part or (0, row.size - 1)
    if part:
        headers["Content-Range"] = f"bytes {first}-{last}/{row.size}"
    headers |= {"Content-Length": str(last - first + 1), "Accept-Ranges": "bytes"}
    if request.method == "HEAD":
        content.close()
        return HttpResponse(headers=headers)
    content.seek(first)
    return StreamingHttpResponse(_Chunks(content, last - first + 1), status=206 if part else 200, headers=headers)


def _guards(row: StoredFile) -> dict[str, str]:
    """Return the headers that keep a browser from showing or running a file."""
    is_safe = _MEDIA_TYPE.fullmatch(row.content_type) and not _RUNNABLE.match(row.content_type)
    return {
        "Content-Type": row.content_type if is_safe else "application/octet-stream",
        "Content-Disposition": content_disposition(row.name),
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": POLICY,
        "Cross-Origin-Resource-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": CACHED,
    }


def _part(wanted: str, size: int) -> tuple[int, int] | tuple[()] | None:
    """Return first and last byte of a range, () for one that cannot be satisfied, None for the whole file."""
    match = _RANGE.fullmatch(wanted.strip())
    if match is None or match[1] == match[2] == "":  # several ranges, or another unit: may be ignored
        return None
    if match[1] == "":
        length = min(int(match[2]), size)
        return (size - length, size - 1) if length else ()
    first, last = int(match[1]), min(int(match[2] or size - 1), size - 1)
    if match[2] and int(match[2]) < first:
        return None
    return (first, last) if first < size else ()


class _Chunks:
    """The next `length` bytes of a file, in pieces. Django closes it with the response."""

    def __init__(self, content: IO[bytes], length: int) -> None:
        self._content, self._left = content, length

    def __iter__(self) -> Iterator[bytes]:
        while self._left > 0 and (part := self._content.read(min(CHUNK, self._left))):
            self._left -= len(part)
            yield part

    def close(self) -> None:
        self._content.close()
