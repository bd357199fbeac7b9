"""
Keys revoked while they are in use (F28): the next request fails, in every process (docs/contract.md 3, docs/adr/0099).

Each racer has CONNECTIONS to the web processes. For each key it submits over all of them, so that every process knows
the key; then it submits over half of them and revokes the key at the same time; then, with the answer to the revocation
in hand, it submits over all of them again. Of these last requests none may be accepted. Those on their way at the same
time as the revocation may be either.
"""

import json
import random
import socket
import threading
from collections import Counter
from collections.abc import Sequence

from tests.faults.case import Run, fault
from tests.load.client import post_bytes
from tests.load.request import BODY

RACERS = 4
CONNECTIONS = 4  # of a racer; the web processes accept in turn, so each process has some of them
REFUSALS = ("401", "429")  # 429: an address sends at most 100 requests an hour with unknown keys
ANSWER_SECONDS = 60.0
_ARRANGE = "from tests.faults import key_arrangement; key_arrangement.main({count})"


@fault("F28", "keys are revoked while they are in use", quick=True)
def revocations(run: Run) -> None:
    count = run.pick(quick=200, full=10_000 if run.is_postgresql else 1_000)  # on SQLite there is one web process
    world = run.world
    made = json.loads(world.application.manage("shell", "--verbosity", "0", "--command", _ARRANGE.format(count=count)))
    racers = [
        Racer(world.port, made["admin"], made["form"], made["keys"][number::RACERS], run.rng.getrandbits(32))
        for number in range(RACERS)
    ]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
    run.result.broken += [problem for racer in racers for problem in racer.problems]
    seen = sum((racer.seen for racer in racers), Counter[str]())
    run.expect(seen["revoked"] == count, f"{seen['revoked']} of {count} keys were revoked")
    stored = world.query(f"SELECT count(*) FROM submissions_submission s WHERE form_id = '{made['form_pk']}'")[0][0]
    accepted = seen["before: 201"] + seen["during: 201"]
    run.expect(stored == accepted, f"{accepted} submissions were accepted, {stored} are stored")
    run.note(
        f"{seen['revoked']:,} keys; of requests during a revocation {seen['during: 201']:,} accepted and "
        f"{sum(seen[f'during: {status}'] for status in REFUSALS):,} refused; afterwards all refused"
    )


class Racer(threading.Thread):
    """Races the revocations of some keys, each `(id, token)`. `seen`: statuses by the moment of the request."""

    def __init__(self, port: int, admin: str, form: str, keys: Sequence[tuple[str, str]], seed: int) -> None:
        super().__init__(daemon=True)
        self.problems: list[str] = []
        self.seen: Counter[str] = Counter()
        self._port, self._admin, self._path, self._keys = port, admin, f"/api/submit?formId={form}", keys
        self._rng = random.Random(seed)
        self._connections = [connect(port) for _ in range(CONNECTIONS)]
        self._revoking = connect(port)

    def run(self) -> None:
        """Race all keys, unless one shows a problem."""
        try:
            for pk, token in self._keys:
                self._race(pk, post_bytes(self._port, self._path, token, BODY))
                if self.problems:
                    return
        except (OSError, AssertionError) as error:
            self.problems.append(f"{type(error).__name__}: {error}")
        finally:
            for connection in (*self._connections, self._revoking):
                connection.close()

    def _race(self, pk: str, post: bytes) -> None:
        self._submit("before", self._connections, post, expected=("201",))
        early, late = self._connections[: CONNECTIONS // 2], self._connections[CONNECTIONS // 2 :]
        revoke = f"DELETE /api/keys/{pk} HTTP/1.1\r\nHost: 127.0.0.1\r\nx-access-key: {self._admin}\r\n\r\n".encode()
        steps = [(connection, post) for connection in early] + [(self._revoking, revoke)]
        self._rng.shuffle(steps)
        for connection, request in steps:
            connection.sendall(request)
        answer = read_answer(self._revoking)
        self.seen["revoked"] += answer == "200"
        if answer != "200":
            self.problems.append(f"a revocation was answered {answer}")
        self._submit("after", late, post, expected=REFUSALS)
        for connection in early:
            self._note("during", read_answer(connection), ("201", *REFUSALS))
        self._submit("after", early, post, expected=REFUSALS)

    def _submit(self, moment: str, connections: Sequence[socket.socket], post: bytes, expected: Sequence[str]) -> None:
        for connection in connections:
            connection.sendall(post)
        for connection in connections:
            self._note(moment, read_answer(connection), expected)

    def _note(self, moment: str, status: str, expected: Sequence[str]) -> None:
        self.seen[f"{moment}: {status}"] += 1
        if status not in expected:
            self.problems.append(f"a submission {moment} the revocation was answered {status}")


def connect(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), ANSWER_SECONDS)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def read_answer(connection: socket.socket) -> str:
    """Read one answer with a Content-Length, and return its status."""
    data = b""
    while True:
        head, end, body = data.partition(b"\r\n\r\n")
        if end:
            fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
            if len(body) >= int(fields[b"content-length"]):
                return head[9:12].decode()
        part = connection.recv(65_536)
        assert part, f"the connection was closed after {data!r}"
        data += part
