"""The line between a visitor and the service: a TCP proxy that slows down and cuts what sends a file."""

import contextlib
import socket
import struct
import threading
import time
from collections import deque
from typing import Self

CHUNK = 64 * 1024  # bytes
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close with a reset, as a line that is gone


class Line:
    """
    Listens on 127.0.0.1 and passes on to `target`, a port. `url` is the service as this line reaches it.

    `cuts`: for each coming upload the bytes after which it is cut; None, or no more of them: not at all.
    `bytes_per_second`: how fast uploads go. `uploads`: the bytes that went up, by upload, headers included.
    """

    def __init__(self, target: int) -> None:
        self.target = target
        self.cuts: deque[int | None] = deque()
        self.bytes_per_second: float | None = None
        self.uploads: list[int] = []
        self._open: set[socket.socket] = set()

    def __enter__(self) -> Self:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._server.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        for one in (self._server, *self._open):
            one.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return  # the line is taken down
            service = socket.create_connection(("127.0.0.1", self.target))
            self._open |= {client, service}
            threading.Thread(target=self._up, args=(client, service), daemon=True).start()
            threading.Thread(target=self._down, args=(service, client), daemon=True).start()

    def _up(self, client: socket.socket, service: socket.socket) -> None:
        is_upload, cut = False, None
        try:
            while data := client.recv(CHUNK):
                line = data.split(b"\r\n", 1)[0]
                if line.endswith(b" HTTP/1.1"):
                    is_upload = line.startswith(b"POST ") and b"/uploads " in line
                    if is_upload:
                        cut = self.cuts.popleft() if self.cuts else None
                        self.uploads.append(0)
                if is_upload:
                    self.uploads[-1] += len(data)
                    if self.bytes_per_second:
                        time.sleep(len(data) / self.bytes_per_second)
                    if cut is not None and self.uploads[-1] >= cut:
                        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                        break
                service.sendall(data)
        except OSError:
            pass  # one of the two has gone
        self._hang_up(client, service)

    def _down(self, service: socket.socket, client: socket.socket) -> None:
        try:
            while data := service.recv(CHUNK):
                client.sendall(data)
        except OSError:
            pass
        self._hang_up(client, service)

    def _hang_up(self, *sockets: socket.socket) -> None:
        for one in sockets:
            with contextlib.suppress(OSError):  # it has gone by itself
                one.shutdown(socket.SHUT_RDWR)
            one.close()
            self._open.discard(one)
