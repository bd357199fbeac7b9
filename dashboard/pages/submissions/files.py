"""Previews of pictures among the files of submissions: pixels that we encoded, never a stranger's bytes."""

import dataclasses
import threading
from contextlib import ExitStack

from django.http import Http404, HttpResponse
from django.urls import path
from django.utils.cache import patch_cache_control
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from config.base.ids import Prefix
from dashboard.access import MemberRequest, find_own, in_organization
from keys.plans import show_bytes
from submissions.files.previews import PREVIEW_TYPE, PREVIEWED, NoPreview
from submissions.files.previews import preview as encode
from submissions.files.storage import FilesAway, open_file
from submissions.models import StoredFile, Submission

SHOWN = 4  # pictures that a page of a submission draws by itself; the others have a link
AT_ONCE = 2  # previews of one process: each takes up to 200 MB and seconds of a processor
WAITING = SHOWN  # with those: one page's. Further ones must not hold threads that forms need
PATIENCE_SECONDS = 3.0
RETRY_AFTER_SECONDS = 5
KEPT_SECONDS = 3600  # by the browser: a file never changes, but it may be deleted

_queue = threading.BoundedSemaphore(WAITING)
_encoders = threading.BoundedSemaphore(AT_ONCE)


@dataclasses.dataclass(frozen=True, slots=True)
class ShownFile:
    """A file as the page of its submission shows it. `has_preview`: its picture can be asked for; `is_drawn`: it is."""

    file: StoredFile
    label: str
    size: str
    has_preview: bool
    is_drawn: bool


def shown_files(submission: Submission) -> list[ShownFile]:
    """Return the files of a submission; its form must be loaded. The first SHOWN pictures are drawn."""
    labels = {field["name"]: field["label"] for field in submission.form.fields}
    drawn, found = 0, []
    for file in submission.files:
        has_preview = file.content_type in PREVIEWED and not file.is_withheld
        drawn += has_preview
        label, size = labels.get(file.field, file.field), show_bytes(file.size)
        found.append(ShownFile(file, label, size, has_preview, has_preview and drawn <= SHOWN))
    return found


@in_organization(of_forms=True)
@require_safe
def preview(request: MemberRequest, file_id: str) -> HttpResponse:
    """Show a picture that a submission has as a file, smaller and encoded again; 404 for other types."""
    file = find_own(request.member.forms.narrow(StoredFile.objects.used()), Prefix.FILE, file_id)
    if file.is_withheld:
        return _refused(gettext("This file is withheld: it is infected, or not scanned yet."), 403)
    if file.content_type not in PREVIEWED:
        raise Http404
    with ExitStack() as places:
        if not _queue.acquire(blocking=False):
            return _busy()
        places.callback(_queue.release)
        if not _encoders.acquire(timeout=PATIENCE_SECONDS):
            return _busy()
        places.callback(_encoders.release)
        try:
            with open_file(file.pk) as content:
                picture = encode(content)
        except (FileNotFoundError, NoPreview):
            raise Http404 from None
        except FilesAway as error:
            return _refused(error.message, error.status)
    response = HttpResponse(picture, content_type=PREVIEW_TYPE)
    response.headers["X-Content-Type-Options"] = "nosniff"
    patch_cache_control(response, private=True, max_age=KEPT_SECONDS)
    return response


def _busy() -> HttpResponse:
    response = _refused(gettext("Too many previews are made now. Try again in a few seconds."), 503)
    response.headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
    return response


def _refused(text: str, status: int) -> HttpResponse:
    return HttpResponse(text, status=status, content_type="text/plain; charset=utf-8")


urlpatterns = [path("files/<str:file_id>/preview", preview, name="file-preview")]
