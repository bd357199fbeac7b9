"""Posting to `/f/{formId}` as pages do, and its answers in JSON."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import altcha

from tests.services.client import Answer, Client
from tests.support.replies import TIME, Like, an_id

URLENCODED = {"Content-Type": "application/x-www-form-urlencoded"}
WANTS_JSON = {"Accept": "application/json"}
SHOP = {"Origin": "https://shop.example", "Referer": "https://shop.example/contact/form.html"}
BOUNDARY = "----fieldpost"
FIELDS: list[dict[str, Any]] = [
    {"name": "name", "label": "Name", "type": "Text", "required": True},
    {"name": "email", "label": "Email", "type": "Email", "required": True},
]
GOOD = {"name": "Ada", "email": "ada@example.com"}


def post(api: Client, form_id: str, values: Any, *, query: str = "", **headers: str) -> Answer:
    """Post urlencoded values; underscores in the names of `headers` stand for hyphens."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return api.post(f"/f/{form_id}{query}", data=urlencode(values, doseq=True), headers=URLENCODED | named)


def ask(api: Client, form_id: str, values: Any, **headers: str) -> Answer:
    """Post, and accept JSON only."""
    return post(api, form_id, values, Accept="application/json", **headers)


def solve(api: Client, form_id: str = "") -> str:
    """Return a fresh challenge's solution, by ALTCHA's own solver, as pages send it. `form_id`: for this form only."""
    challenge = altcha.Challenge.from_dict(api.get(f"/f/challenge?formId={form_id}").json())
    solution = altcha.solve_challenge(challenge)
    assert solution
    return altcha.Payload(challenge, solution).to_base64()


def multipart(
    values: Mapping[str, str], files: Mapping[str, tuple[str, str]] | None = None
) -> tuple[str, dict[str, str]]:
    """Return body and headers of a multipart post; `files` are field name -> (file name, content)."""
    parts = [f'Content-Disposition: form-data; name="{name}"\r\n\r\n{value}' for name, value in values.items()]
    for name, (file_name, content) in (files or {}).items():
        head = f'Content-Disposition: form-data; name="{name}"; filename="{file_name}"'
        parts.append(f"{head}\r\nContent-Type: application/octet-stream\r\n\r\n{content}")
    body = "".join(f"--{BOUNDARY}\r\n{part}\r\n" for part in parts) + f"--{BOUNDARY}--\r\n"
    return body, {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}


def accepted_json(form_id: str, next_page: str | Like, message: str = "Submission received.") -> dict[str, Any]:
    data = {"id": an_id("sub"), "formId": form_id, "createdAt": TIME}
    return {"success": True, "ok": True, "data": data, "message": message, "next": next_page}


def refused_json(error: str, message: str, *errors: dict[str, str]) -> dict[str, Any]:
    return {"success": False, "error": error, "message": message, "errors": list(errors)}
