"""A log line about a mail server that takes no mails: one for each reason and ten minutes, not one for each mail."""

import logging

from django.core.cache.backends.locmem import LocMemCache

LINE_EVERY = 600.0  # seconds, for one reason in one process
MAX_CHARACTERS = 200  # of the server's reply

logger = logging.getLogger(__name__)

LOGGED = LocMemCache("useless mail servers", {"TIMEOUT": LINE_EVERY})


def log_useless_server(error: OSError | str) -> None:
    """Log why the mail server cannot be used now: the error of a session or of MAIL, or the reason as text."""
    if LOGGED.add(f"{type(error).__name__}:{_code_of(error)}", True):
        logger.warning("the mail server takes no mails now, they are retried: %s", _text_of(error))


def _code_of(error: OSError | str) -> int:
    """Return the code of a reply or of the operating system, 0 without either."""
    return getattr(error, "smtp_code", None) or getattr(error, "errno", None) or 0


def _text_of(error: OSError | str) -> str:
    """Return the error on one line: of a reply its class, code and text, and never the address that was refused."""
    text, reply = str(error), getattr(error, "smtp_error", None)
    if reply is not None:
        said = reply.decode("utf-8", "replace") if isinstance(reply, bytes) else reply
        text = f"{type(error).__name__} {_code_of(error)} {said}"
    return " ".join(text.split())[:MAX_CHARACTERS]
