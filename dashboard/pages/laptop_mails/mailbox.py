"""
The mailbox of a laptop: with DEMO and without a mail server, mails are printed and kept as files, to be read in a page.

It has codes and links of every account, so it exists only with DEMO, which refuses addresses that others reach.
"""

import dataclasses
import datetime as dt
import time
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.mail.backends.console import EmailBackend

KEPT = 50  # mails; older ones are deleted


@dataclasses.dataclass(frozen=True, slots=True)
class KeptMail:
    """A mail as it was sent. `key`: unique, and the same each time that it is read."""

    key: str
    at: dt.datetime
    to: str
    subject: str
    text: str


class KeptMails(EmailBackend):
    """Prints mails, as Django's console backend does, and keeps them."""

    def write_message(self, message: Any) -> None:
        super().write_message(message)
        keep(message.message().as_bytes())


def has_mailbox() -> bool:
    return bool(f"{__name__}.{KeptMails.__name__}" == settings.EMAIL_BACKEND)


def keep(content: bytes) -> None:
    """Write a mail that only the service's user may read, and delete the oldest ones."""
    folder = _folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / f"{time.time_ns():020}.eml"
    path.touch(mode=0o600)
    path.write_bytes(content)
    for old in _newest_first()[KEPT:]:
        old.unlink(missing_ok=True)


def kept_mails() -> list[KeptMail]:
    """Return the mails, newest first."""
    return [_read(path) for path in _newest_first()[:KEPT]]


def _read(path: Path) -> KeptMail:
    message = message_from_bytes(path.read_bytes(), _class=EmailMessage, policy=default)
    body = message.get_body(("plain",))
    at = dt.datetime.fromtimestamp(int(path.stem) / 1e9, dt.UTC)
    text = body.get_content() if body is not None else ""
    return KeptMail(path.stem, at, str(message["To"]), str(message["Subject"]), text.strip())


def _newest_first() -> list[Path]:
    return sorted(_folder().glob("*.eml"), reverse=True)


def _folder() -> Path:
    return Path(settings.DATA_DIR) / "mails"
