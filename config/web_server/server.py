"""uvicorn's server over an open listening socket, for web and live stream, with the sweep for slow clients."""

import asyncio
import logging
import os
import signal
import socket
import time
from collections.abc import Callable, Iterable
from typing import Any, NoReturn, cast

import uvicorn
import uvloop

from config.supervision.ports import BACKLOG, allow_open_files
from config.web_server.accepting import Acceptor
from config.web_server.connection import Connection

SPARE_FILES = 1_500  # besides the connections: database, Redis, bodies in files (MAX_SPOOLED) and the files in them
SWEEP_SECONDS = 1.0
END_POLL_SECONDS = 0.05  # while connections are ended
MAX_UNREAD_BYTES = 256 * 1024 * 1024  # of responses, in one process
KEEP_ALIVE_SECONDS = 75  # longer than a proxy keeps an idle connection (nginx: 60 s), so the proxy closes it first


def run(
    application: Any,
    *,
    listener: socket.socket,
    connections: int,
    grace_seconds: float,
    on_start: Callable[[], None] = lambda: None,
    on_ready: Callable[[], None] = lambda: None,
) -> NoReturn:
    """
    Serve an ASGI application until SIGTERM or SIGINT, give open requests `grace_seconds`, and end the process.

    `on_start` is called in the event loop before, and `on_ready` after connections are accepted.
    """
    allow_open_files(connections + SPARE_FILES)
    logging.getLogger("uvicorn.error").addFilter(_is_ours)
    config = uvicorn.Config(
        application,
        http=Connection,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=connections,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=grace_seconds,  # type: ignore[arg-type]  # passed on to `asyncio.wait_for`
    )
    uvloop.run(_serve(uvicorn.Server(config), listener, on_start, on_ready))
    logging.shutdown()
    os._exit(0)  # threads may still wait for the database, and Python would spend 0.2 s on taking modules apart


async def _serve(
    server: uvicorn.Server, listener: socket.socket, on_start: Callable[[], None], on_ready: Callable[[], None]
) -> None:
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    on_start()
    server.config.load()
    server.lifespan = server.config.lifespan_class(server.config)
    await server.startup(sockets=[])
    await server.on_tick(0)  # the date of the first responses
    server.servers = [cast(asyncio.Server, Acceptor(listener, lambda: _new_connection(server)))]
    on_ready()
    sweep = loop.create_task(_sweep(server))
    await stopping.wait()
    server.should_exit = True
    ending = loop.create_task(_end_connections(server))
    await server.shutdown(sockets=[listener])
    for task in (sweep, ending):
        task.cancel()


def _new_connection(server: uvicorn.Server) -> Connection:
    return Connection(config=server.config, server_state=server.server_state, app_state=server.lifespan.state)


async def _end_connections(server: uvicorn.Server) -> None:
    """End the connections, those too that were accepted at the last moment."""
    while True:
        for connection in list(server.server_state.connections):
            connection.shutdown()
        await asyncio.sleep(END_POLL_SECONDS)


def _is_ours(record: logging.LogRecord) -> bool:
    """Return whether uvicorn reports an error of ours, not a bad request or the end of an open stream."""
    return bool(record.exc_info and isinstance(record.exc_info[1], Exception))


async def _sweep(server: uvicorn.Server) -> None:
    """Look after the connections once a second; uvicorn's own loop wakes ten times, to see whether it should end."""
    while True:
        await asyncio.sleep(SWEEP_SECONDS)
        await server.on_tick(0)  # the date of the responses
        now = time.monotonic()
        connections = cast(list[Connection], list(server.server_state.connections))
        for connection in connections:
            connection.check(now)
        cut_unread(connections, MAX_UNREAD_BYTES)


def cut_unread(connections: Iterable[Connection], most: int) -> None:
    """Cut connections, those with most first, until less than `most` bytes wait for their clients to read them."""
    waiting = {connection: connection.transport.get_write_buffer_size() for connection in connections}
    total = sum(waiting.values())
    for connection in sorted(waiting, key=waiting.__getitem__, reverse=True):
        if total <= most:
            return
        total -= waiting[connection]
        connection.cut()
