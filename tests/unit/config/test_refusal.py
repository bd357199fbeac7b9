"""Whether a PostgreSQL refuses connections (`config.postgresql.base.refusal`), against plain sockets."""

import socket
from pathlib import Path
from typing import Any

import pytest

from config.postgresql.base import refusal
from tests.services.processes import free_port

OTHERS: dict[str, Any] = {"dbname": "it's", "autocommit": True, "prepare_threshold": None, "cursor_factory": object}


def test_refusal__closed_port_or_no_socket__has_a_reason(tmp_path: Path) -> None:
    assert "refused" in refusal({"host": "127.0.0.1", "port": free_port(), **OTHERS})
    assert "No such file" in refusal({"host": str(tmp_path), "port": 5432, **OTHERS})


@pytest.mark.parametrize("closed_first", [False, True])
def test_refusal__server_that_accepts_and_says_nothing__is_empty(closed_first: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        hosts = {"host": "127.0.0.1,127.0.0.1", "port": f"{free_port()},{port}"} if closed_first else {"port": port}
        assert refusal({"host": "127.0.0.1", **hosts, **OTHERS}) == ""
        server.setblocking(True)
        taken, _ = server.accept()
        with taken:
            assert taken.recv(1) == b""  # PostgreSQL logs a connection only after its first byte
