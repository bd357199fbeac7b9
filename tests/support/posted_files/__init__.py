"""Posting files to forms, and forms that take them."""

import hashlib
import uuid
from collections.abc import Sequence
from typing import Any

from config.base.ids import Prefix, decode_id
from config.base.times import now
from submissions.models import StoredFile
from tests.services.client import Answer, Client

BOUNDARY = "----fieldpostfiles"
FILE_HEADERS = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
PDF = b"%PDF-1.7\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n"
MIB = 1024 * 1024
Part = tuple[str, str | None, bytes]  # name of the input, name of the file or None for a text, content


def file_field(name: str = "cv", **values: Any) -> dict[str, Any]:
    """Return the definition of a File field."""
    return {"name": name, "label": name.upper(), "type": "File", "required": False, **values}


def pdf(size: int) -> bytes:
    """Return a PDF, as far as its first bytes say, of this many bytes."""
    return PDF + b"%" * (size - len(PDF) - 6) + b"%%EOF\n"


OTHER_BOUNDARY = {"Content-Type": "multipart/form-data; boundary=other"}


def with_other_boundary(body: bytes) -> bytes:
    """Return the same parts as a browser sends them the next time, for `OTHER_BOUNDARY`."""
    return body.replace(BOUNDARY.encode(), b"other")


def body_of(parts: Sequence[Part]) -> bytes:
    """Return the body of a multipart post."""
    found = b""
    for name, file_name, content in parts:
        of_file = "" if file_name is None else f'; filename="{file_name}"\r\nContent-Type: application/octet-stream'
        head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"{of_file}\r\n\r\n'
        found += head.encode() + content + b"\r\n"
    return found + f"--{BOUNDARY}--\r\n".encode()


def post_files(api: Client, form_id: str, parts: Sequence[Part], **headers: str) -> Answer:
    """Post texts and files as a page does, asking for JSON."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    sent = FILE_HEADERS | {"Accept": "application/json"} | named
    return api.post(f"/f/{form_id}", data=body_of(parts), headers=sent)


def stored_file(form_id: str, field: str = "cv", *, organization_id: uuid.UUID, **values: Any) -> StoredFile:
    """Return the row of a file that was sent by itself and waits for its submission; it has no bytes."""
    moment = now()
    known: dict[str, Any] = {
        "name": "plan.pdf",
        "size": len(PDF),
        "content_type": "application/pdf",
        "sha256": hashlib.sha256(PDF).hexdigest(),
        "stored_at": moment,
        "expires_at": moment.replace(year=moment.year + 1),
        "address": "192.0.2.1",
    }
    form = decode_id(Prefix.FORM, form_id)
    return StoredFile.objects.create(organization_id=organization_id, form_id=form, field=field, **known | values)


def files_of_form(form_id: str) -> list[StoredFile]:
    """Return the rows of a form's files, by submission and place."""
    form = decode_id(Prefix.FORM, form_id)
    return list(StoredFile.objects.filter(form_id=form).order_by("submission_id", "place", "id"))
