"""Files of submissions as rows with their bytes, stored without the API, and their records as literals."""

import dataclasses
import datetime as dt
import hashlib
import io
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from PIL import Image

from config.base.ids import Prefix, decode_id, new_id
from config.base.times import now
from submissions.files import storage
from submissions.models import StoredFile, Submission
from submissions.search_text import search_text
from tests.support.replies import Like
from tests.support.rows import row
from tests.support.tenants import Tenant, text_field

PDF = b"%PDF-1.4\n1 0 obj\n<<>>\nendobj\n%%EOF\n"


@dataclasses.dataclass(frozen=True)
class Sent:
    """A file of a submission: its bytes are kept unless `is_kept` is False."""

    name: str = "cv.pdf"
    content: bytes = PDF
    field: str = "cv"
    content_type: str = "application/pdf"
    scan: str = StoredFile.Scan.NONE.value
    is_kept: bool = True


def picture(name: str = "photo.png", size: tuple[int, int] = (64, 48), **values: Any) -> Sent:
    """Return a PNG of one color."""
    content = io.BytesIO()
    Image.new("RGB", size, (200, 80, 40)).save(content, "PNG")
    return Sent(name, content.getvalue(), content_type="image/png", **values)


def file_field(name: str = "cv", **values: Any) -> dict[str, Any]:
    """Return the definition of a File field, which need not be filled in."""
    return {**text_field(name, type="File"), "required": False, **values}


def put_with_files(
    tenant: Tenant,
    form_id: str,
    files: Sequence[Sent],
    values: Mapping[str, str] | None = None,
    at: dt.datetime | None = None,
    *,
    spam: bool = False,
    counted_as: str = "",
) -> Submission:
    """Store a submission with its files, as if they had been sent; `data` has their names."""
    made = row(tenant, form_id, dict(values or {}), at, spam=spam)
    made.counted_as = counted_as
    for field in dict.fromkeys(one.field for one in files):
        made.data[field] = ", ".join(one.name for one in files if one.field == field)
    made.search_text = search_text(list(made.data.values()))
    made.files_size = sum(len(one.content) for one in files)
    rows = [_row_of(tenant, form_id, one) for one in files]
    for stored, one in zip(rows, files, strict=True):
        if one.is_kept:
            storage.keep(stored.pk, io.BytesIO(one.content), size=len(one.content))
    with transaction.atomic():  # dispatch must not find the submission without its files
        made.save(force_insert=True)
        for place, stored in enumerate(rows):
            stored.submission_id, stored.place = made.pk, place
            stored.save(force_insert=True)
    return made


def _row_of(tenant: Tenant, form_id: str, sent: Sent) -> StoredFile:
    return StoredFile(
        id=new_id(),
        organization_id=tenant.organization.pk,
        form_id=decode_id(Prefix.FORM, form_id),
        field=sent.field,
        name=sent.name,
        size=len(sent.content),
        content_type=sent.content_type,
        sha256=hashlib.sha256(sent.content).hexdigest(),
        scan=sent.scan,
        stored_at=now(),
    )


def file_record_of(sent: Sent) -> dict[str, Any]:
    """Return the record of a file as submissions show it; its id and the service's address are any."""
    return {
        "id": Like(r"upl_[0-7][0-9a-hjkmnp-tv-z]{25}"),
        "field": sent.field,
        "name": sent.name,
        "size": len(sent.content),
        "type": sent.content_type,
        "sha256": hashlib.sha256(sent.content).hexdigest(),
        "scan": sent.scan,
        "url": Like(r"https?://[^/]+/files/upl_[0-7][0-9a-hjkmnp-tv-z]{25}"),
    }
