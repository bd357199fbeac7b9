"""`fieldpost.Client`: a service from Python."""

import hashlib
import os
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, cast
from urllib.parse import quote

from urllib3.filepost import encode_multipart_formdata

from fieldpost.errors import Error
from fieldpost.records import Accepted, Form, Me, Submission, Upload
from fieldpost.transport import Transport, environment

PAGE = 100  # records in one request, the most that the API gives
# A path, an open file, or a name and its bytes.
FileValue: TypeAlias = str | os.PathLike[str] | BinaryIO | tuple[str, bytes]


class Forms:
    """The organization's forms."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, status: str | None = None) -> Iterator[Form]:
        """Yield the forms, newest first; archived ones only with the status `archived` or `all`."""
        page, pages = 1, 1
        while page <= pages:
            query = {"page": str(page), "limit": str(PAGE), **({"status": status} if status else {})}
            found = self._transport.request("GET", "/api/forms", query=query).json()
            yield from found["data"]
            page, pages = page + 1, found["pagination"]["pages"]

    def get(self, form_id: str) -> Form:
        return cast(Form, self._transport.request("GET", f"/api/forms/{quote(form_id, safe='')}").data)


class Submissions:
    """The organization's submissions."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, form_id: str | None = None, limit: int = PAGE, cursor: str = "") -> Iterator[Submission]:
        """
        Yield submissions oldest first, without spam, `limit` (1 to 100) with each request.

        They come by cursor: none is left out and none comes twice, whatever arrives or is deleted meanwhile.
        """
        has_more = True
        while has_more:
            query = {"cursor": cursor, "limit": str(limit), **({"formId": form_id} if form_id else {})}
            found = self._transport.request("GET", "/api/submissions", query=query).json()
            yield from found["data"]
            cursor, has_more = found["pagination"]["next"], found["pagination"]["hasMore"]

    def get(self, submission_id: str) -> Submission:
        path = f"/api/submissions/{quote(submission_id, safe='')}"
        return cast(Submission, self._transport.request("GET", path).data)


class Client:
    """
    A service and a key; without them those of FIELDPOST_URL and FIELDPOST_KEY.

    A request is sent up to three times, where the service is busy (429), away (502, 503, 504) or cuts the connection.
    All tries of a POST have one `Idempotency-Key`, so it is done once.
    """

    def __init__(self, url: str | None = None, key: str | None = None) -> None:
        url, key = url or environment("FIELDPOST_URL"), key or environment("FIELDPOST_KEY")
        if not url or not key:
            raise Error("Say which service and key: Client(url, key), or FIELDPOST_URL and FIELDPOST_KEY.")
        self.transport = Transport(url, key)
        self.forms = Forms(self.transport)
        self.submissions = Submissions(self.transport)

    def me(self) -> Me:
        """Return whose key this is."""
        return cast(Me, self.transport.request("GET", "/api/me").data)

    def submit(
        self,
        form_id: str,
        data: Mapping[str, Any],
        *,
        files: Mapping[str, FileValue | list[FileValue]] | None = None,
        idempotency_key: str | None = None,
    ) -> Accepted:
        """
        Store a submission with its files by field.

        With the same `idempotency_key`, the same values and the same files, a second call answers what the first did.
        """
        key = idempotency_key or str(uuid.uuid4())
        values = dict(data)
        for field, value in (files or {}).items():
            several = _several(value)
            ids = [
                self.upload(form_id, field, file, idempotency_key=_derived(key, field, number))["id"]
                for number, file in enumerate(several)
            ]
            values[field] = ids
        answer = self.transport.request(
            "POST", "/api/submit", query={"formId": form_id}, json_body=values, idempotency_key=key
        )
        return cast(Accepted, answer.data)

    def upload(self, form_id: str, field: str, file: FileValue, *, idempotency_key: str | None = None) -> Upload:
        """Send a file before its submission, in which its id is the value of the field."""
        fields: dict[str, Any] = {"formId": form_id, "field": field, "file": _named(file)}
        body, media_type = encode_multipart_formdata(fields)
        headers = {"Content-Type": media_type}
        answer = self.transport.request(
            "POST", "/api/uploads", body=body, headers=headers, idempotency_key=idempotency_key
        )
        return cast(Upload, answer.data)


def _several(value: FileValue | list[FileValue]) -> list[FileValue]:
    return value if isinstance(value, list) else [value]


def _derived(key: str, field: str, number: int) -> str:
    """Return the key of one file's upload: a repeated call gets the same ids, and so sends the same values."""
    return hashlib.sha256(f"{key}\n{field}\n{number}".encode()).hexdigest()


def _named(file: FileValue) -> tuple[str, bytes]:
    if isinstance(file, tuple):
        return file
    if isinstance(file, str | os.PathLike):
        path = Path(file)
        return path.name, path.read_bytes()
    return Path(str(getattr(file, "name", "file"))).name, file.read()
