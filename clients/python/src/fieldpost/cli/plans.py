"""Plans: how forms differ from their files, and making them as the files say."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fieldpost.cli.form_files import body_of, read
from fieldpost.cli.output import CommandError, sentence
from fieldpost.cli.seen import Seen
from fieldpost.client import Client
from fieldpost.errors import APIError

NOT_FOUND = 404


@dataclass(frozen=True)
class Planned:
    """One form that a plan changes: `body` and `precondition` of its PUT, or the `form_id` to archive."""

    key: str
    action: str  # create, update or archive
    changes: list[dict[str, Any]]
    etag: str | None = None
    body: Mapping[str, Any] | None = None
    precondition: Mapping[str, str] | None = None
    form_id: str = ""

    def shown(self) -> dict[str, Any]:
        return {"key": self.key, "action": self.action, "changes": self.changes}


def by_key(key: str) -> str:
    return f"/api/forms/by-key/{key}"


def document_of(client: Client, key: str) -> tuple[dict[str, Any], str] | None:
    """Return the document of a form and its ETag, or None where there is none."""
    try:
        answer = client.transport.request("GET", by_key(key))
    except APIError as error:
        if error.status == NOT_FOUND and error.code == "not_found":
            return None
        raise
    return answer.data, answer.headers["ETag"]


def try_out(
    client: Client, key: str, body: Mapping[str, Any], precondition: Mapping[str, str] | None = None
) -> list[dict[str, Any]]:
    """Return the changes that a PUT would make."""
    answer = client.transport.request(
        "PUT", by_key(key), query={"dryRun": "true"}, json_body=body, headers=precondition
    )
    changes: list[dict[str, Any]] = answer.data["changes"]
    return changes


def plan_file(client: Client, path: Path, *, seen: str | None = None, with_secret: bool = True) -> Planned:
    """Return how a form differs from its file. With an ETag that was `seen`, a form that has changed since is 412."""
    key, body = path.stem, body_of(path, read(path), with_secret=with_secret)
    found = document_of(client, key)
    etag = found[1] if found else None
    precondition = {"If-Match": seen or etag or ""} if seen or etag else {"If-None-Match": "*"}
    try:
        changes = try_out(client, key, body, precondition)
    except APIError as error:
        raise _about(path, error) from None
    return Planned(key, "update" if found else "create", changes, etag, body, precondition)


def _about(path: Path, error: APIError) -> APIError:
    """Return an error that names the file, and what to do."""
    message = f"{path}: {sentence(error)}"
    if error.code == "precondition_failed":
        message = f"The form {path.stem} has changed since you last saw it. Look at it with `fieldpost forms plan`."
    return APIError(error.status, error.code, message)


def plan_archiving(client: Client, keys: Iterable[str]) -> list[Planned]:
    """Return the forms without a file; the default form stays."""
    known = set(keys)
    if not known:
        raise CommandError("no_form", "Without any file nothing is archived.")
    return [
        Planned(
            form["key"],
            "archive",
            [{"path": "status", "from": form["status"], "to": "archived"}],
            form_id=form["id"],
        )
        for form in client.forms.list()
        if form["key"] not in known and not form["isDefault"]
    ]


def carry_out(client: Client, planned: Planned, seen: Seen) -> None:
    """Change one form, and remember how it is now."""
    if planned.action == "archive":
        client.transport.request("DELETE", f"/api/forms/{planned.form_id}")
        seen[planned.key] = None
        return
    answer = client.transport.request("PUT", by_key(planned.key), json_body=planned.body, headers=planned.precondition)
    seen[planned.key] = answer.headers["ETag"]
