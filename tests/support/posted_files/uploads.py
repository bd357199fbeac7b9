"""Uploading files by themselves, as a page does."""

from collections.abc import Sequence
from typing import Any

from tests.services.client import Answer, Client
from tests.support.posted_files import FILE_HEADERS, PDF, Part, body_of, file_field
from tests.support.tenants import Tenant, text_field


def parts_of(content: bytes = PDF, *, field: str = "cv", name: str = "plan.pdf", **texts: str) -> list[Part]:
    named = ((key, None, value.encode()) for key, value in texts.items())
    return [("field", None, field.encode()), *named, ("file", name, content)]


def upload(api: Client, form_id: str, parts: Sequence[Part] | None = None, **headers: str) -> Answer:
    """Send a file as a page does."""
    body = body_of(parts_of() if parts is None else parts)
    return api.post(f"/f/{form_id}/uploads", data=body, headers=FILE_HEADERS | headers)


def form_with_files(tenant: Tenant, **values: Any) -> str:
    return tenant.form(fields=[text_field("name", required=False), file_field(maxFiles=3)], **values)
