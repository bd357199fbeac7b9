"""
gunicorn's settings for the web role, in `serve` and as a separate unit: `gunicorn -c config/web_server/settings.py`.

gunicorn reads this file again at each SIGHUP. It imports nothing of ours, because a worker is a fork of the process
that reads it, and would keep the code of before.
https://gunicorn.org/reference/settings/
"""

import os
import socket
from pathlib import Path
from typing import Any

HOST, PORT = os.environ.get("WEB_HOST", "127.0.0.1"), os.environ.get("PORT", "8000")
# A proxy passes whole requests on. Without one each slow client holds a thread.
ALONE, BEHIND_A_PROXY = 16, 8

bind = f"[{HOST}]:{PORT}" if ":" in HOST else f"{HOST}:{PORT}"
backlog = 4096  # connections that wait to be accepted, as far as the system allows
worker_class = "gthread"
workers = int(os.environ.get("WEB_CONCURRENCY") or 1)
threads = int(
    os.environ.get("WEB_THREADS")
    or (ALONE if os.environ.get("TRUSTED_PROXY_COUNT", "0") in ("", "0") else BEHIND_A_PROXY)
)
timeout = 60  # seconds without a sign of life of a process, whose threads may wait for longer
graceful_timeout = 10  # seconds for open requests when a process ends
keepalive = 75  # seconds; longer than a proxy keeps an idle connection (nginx: 60), so the proxy closes it first

limit_request_line = 8190
limit_request_fields = 100
limit_request_field_size = 16 * 1024

# Django decides about X-Forwarded-For and X-Forwarded-Proto. gunicorn decides nothing by a header.
forwarded_allow_ips = ""
forwarder_headers = ""
secure_scheme_headers: dict[str, str] = {}

loglevel = "error"
control_socket_disable = True
worker_tmp_dir = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108 - a sign of life needs no disk


def when_ready(server: Any) -> None:
    """Cut clients that take nothing of their answer for READER_SECONDS: accepted connections inherit the limit."""
    _name_process("gunicorn")
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux
        for listener in server.LISTENERS:
            milliseconds = round(1000 * float(os.environ.get("READER_SECONDS") or 60))
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)


def post_worker_init(_worker: Any) -> None:
    """Print the link of the first person, while an installation has none. The worker has loaded Django by now."""
    from django.utils.module_loading import import_string

    import_string("config.wsgi.announce_setup")()


def pre_request(_worker: Any, request: Any) -> None:
    """Announce the end of the connection after a body that may be too large to be read to its end."""
    if any(name == "CONTENT-LENGTH" and len(value) > len("999999") for name, value in request.headers):
        request.force_close()


def post_fork(_server: Any, _worker: Any) -> None:
    """Tell the processes that answer requests from the one that starts them."""
    _name_process("web")


def _name_process(name: str) -> None:
    shown = Path("/proc/self/comm")
    if shown.exists():  # Linux
        shown.write_text(name)
