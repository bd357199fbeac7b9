"""
SIGKILL at any point of an upload or a deletion (F27).

At the end each submission answered 201 has its file, byte for byte, no other submission has any, and after the purge no
bytes are without an owner.
"""

import hashlib
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import urllib3

from tests.faults.case import Run, fault
from tests.faults.points import point
from tests.faults.world import World
from tests.services.client import Answer, Client
from tests.services.waiting import eventually, let_pass

BOUNDARY = "file-boundary"
FILE_BYTES = 600_000  # large enough to go through a file on its way
THREADS = 4
POINTS = {
    "before the bytes": ("submissions.files.storage.keep", "exit before"),
    "after the bytes": ("submissions.files.keeping._note_stored", "exit before"),
    "before the submission": ("submissions.receiving.insert._insert", "exit before"),
    "after attaching": ("submissions.files.attaching.attach", "exit after"),
    "after the commit": ("submissions.receiving.insert.store", "exit after"),
}
DELETING = {
    "before the object is deleted": ("submissions.files.storage.remove", "exit before"),
    "after the object is deleted": ("submissions.files.local_storage.LocalFiles.delete", "exit after"),
}
FIELD = {"name": "cv", "label": "CV", "type": "File"}
SETTINGS = {
    "BURST_PER_ADDRESS_AND_FORM": "1000000/m",
    "BURST_PER_FORM": "1000000/m",
}
_END = (  # expired files and unfinished ones, which are kept for an hour or a week otherwise
    "from submissions.models import StoredFile; from config.base.times import now; import datetime as dt;"
    "past = now() - dt.timedelta(days=30);"
    "StoredFile.objects.filter(submission_id=None).update(expires_at=past, created_at=past);"
    "from submissions.files.removal import purge_files; purge_files()"
)


@dataclass
class Sent:
    """A submission with a file. `id`: after its 201."""

    number: int
    form_id: str
    id: str = ""

    @property
    def file(self) -> bytes:
        """Its bytes: a text that no other submission has."""
        line = hashlib.sha256(f"{self.form_id} {self.number}".encode()).hexdigest() + "\n"
        return (line * (FILE_BYTES // len(line) + 1))[:FILE_BYTES].encode()

    @property
    def body(self) -> bytes:
        head = 'Content-Disposition: form-data; name="'
        value = f'--{BOUNDARY}\r\n{head}number"\r\n\r\n{self.number}\r\n'
        file = f'--{BOUNDARY}\r\n{head}cv"; filename="{self.number}.txt"\r\nContent-Type: text/plain\r\n\r\n'
        return (value + file).encode() + self.file + f"\r\n--{BOUNDARY}--\r\n".encode()

    @property
    def headers(self) -> dict[str, str]:
        return {
            "Content-Type": f"multipart/form-data; boundary={BOUNDARY}",
            "Accept": "application/json",
            "Idempotency-Key": f"file-{self.number}",
        }


class Senders:
    """Sends and deletes submissions with files, and tries again whatever has no answer."""

    def __init__(self, run: Run, world: World) -> None:
        self.run, self.world = run, world
        tenant = run.tenant(world, [[]])
        self.key = tenant.key
        self.client = Client(world.port)
        made = self.client.post("/api/forms", self.key, json={"name": "CVs", "fields": [FIELD], "status": "published"})
        assert made.status == 201, made.text
        self.form_id: str = made.json()["data"]["id"]
        self.sent: list[Sent] = []
        self.deleted: set[str] = set()
        self._lock = threading.Lock()

    def send(self) -> Sent:
        with self._lock:
            one = Sent(len(self.sent), self.form_id)
            self.sent.append(one)
        answer = self._insist("POST", f"/f/{self.form_id}", data=one.body, headers=one.headers)
        if answer.status != 201:
            self.run.expect(False, f"a submission with a file was answered {answer.status}: {answer.text[:200]}")
        else:
            one.id = answer.json()["data"]["id"]
        return one

    def delete(self, one: Sent) -> None:
        answer = self._insist("DELETE", f"/api/submissions/{one.id}", self.key)
        self.run.expect(answer.status in (200, 204, 404), f"a deletion was answered {answer.status}")
        self.deleted.add(one.id)

    def _insist(self, method: str, path: str, key: str | None = None, **content: object) -> Answer:
        """Return the answer, after as many retries as it takes while processes are killed and start again."""

        def answered() -> Answer | None:
            try:
                answer = self.client.request(method, path, key, **content)  # type: ignore[arg-type]  # passed on
            except (urllib3.exceptions.HTTPError, OSError):
                return None
            return None if answer.status >= 500 else answer

        return eventually(answered, 90, f"{method} {path} is answered")


@fault("F27", "SIGKILL at any point of an upload or a deletion", quick=True)
def killed_with_files(run: Run) -> None:
    points = {
        title: point(name, do, run.new_directory() / "armed", of_none=True)
        for title, (name, do) in {**POINTS, **DELETING}.items()
    }
    with run.own_world(points=points, settings=SETTINGS) as world:
        senders = Senders(run, world)
        for title in POINTS:
            die_at(run, world, title, senders.send)
        for title in DELETING:
            one = senders.send()
            die_at(run, world, title, partial(senders.delete, one))
        kill_at_random(run, world, senders)
        senders.client.__exit__()
        with Client(world.port) as client:
            check(run, world, senders, client)


def die_at(run: Run, world: World, title: str, act: Callable[[], object]) -> None:
    """Let a process exit at this point while `act` runs; its request is sent again until it is answered."""
    one = world.points[title]
    one.arm()
    with run.outage():
        act()
        eventually(lambda: one.has_run, 60, f"a process exits {title}")
    run.result.kills += 1


def kill_at_random(run: Run, world: World, senders: Senders) -> None:
    """Kill web processes while submissions arrive and every third one is deleted."""
    kills = run.pick(quick=3, full=15)
    over = threading.Event()

    def work() -> None:
        while not over.is_set():
            one = senders.send()
            if one.id and one.number % 3 == 0:
                senders.delete(one)

    with ThreadPoolExecutor(THREADS) as pool:
        working = [pool.submit(work) for _ in range(THREADS)]
        for _ in range(kills):
            let_pass(run.rng.uniform(0.3, 2.5))
            run.killed(world.kill_web(run.rng))
        over.set()
        for each in working:
            each.result()


def check(run: Run, world: World, senders: Senders, client: Client) -> None:
    """Compare submissions, files and bytes, after the purge."""
    world.application.manage("shell", "--verbosity", "0", "--command", _END)
    kept = [one for one in senders.sent if one.id and one.id not in senders.deleted]
    wrong = [one.number for one in kept if not has_its_file(client, senders.key, one)]
    run.expect(not wrong, f"submissions without their file: {wrong[:3]} of {len(kept)}")
    rows = world.query("SELECT count(*) FROM submissions_submission WHERE files_size > 0")[0][0]
    run.expect(rows == len(kept), f"{rows} submissions have files, {len(kept)} were answered 201 and not deleted")
    owned = world.query("SELECT count(*) FROM submissions_storedfile WHERE submission_id IS NOT NULL")[0][0]
    everything = world.query("SELECT count(*) FROM submissions_storedfile")[0][0]
    on_disk = stored_files(Path(world.environment["DATA_DIR"]) / "files")
    run.note(f"{len(senders.sent)} submissions with files, {len(senders.deleted)} deleted, {on_disk} files on disk")
    run.expect(owned == everything == on_disk == len(kept), f"{everything} rows, {owned} used, {on_disk} on disk")


def has_its_file(client: Client, key: str, one: Sent) -> bool:
    """Return whether the record names one file, whose bytes are those of the upload."""
    record = client.get(f"/api/submissions/{one.id}", key)
    if record.status != 200:
        return False
    files = record.json()["data"]["files"]
    expected = hashlib.sha256(one.file).hexdigest()
    if [each["sha256"] for each in files] != [expected]:
        return False
    return client.get(f"/files/{files[0]['id']}", key).body == one.file


def stored_files(directory: Path) -> int:
    return sum(path.is_file() for path in directory.rglob("*"))
