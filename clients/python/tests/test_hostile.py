"""Services, repositories and pages of somebody who means harm: what they cannot do to this machine."""

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from fieldpost.cli.form_files import body_of, read
from fieldpost.cli.listen import events_url
from fieldpost.cli.main import main
from fieldpost.cli.output import CommandError
from fieldpost.cli.profiles import Profile, save
from fieldpost.cli.session import open_session

DOCUMENT = {"name": "Inbox", "fields": [], "spam": {}}
COMMANDS = "\x1b]0;title\x07\x9b2J"


class Service(BaseHTTPRequestHandler):
    """Answers as Fieldpost does, with whatever `answers` has for a path."""

    answers: dict[str, Any] = {}

    def do_GET(self) -> None:
        body = json.dumps(self.answers.get(self.path.partition("?")[0], {"data": DOCUMENT})).encode()
        self.send_response(200)
        self.send_header("ETag", '"1"')
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        """Print nothing."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give the folder of a repository, next to a service that is named in the environment."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    monkeypatch.setenv("FIELDPOST_URL", f"http://127.0.0.1:{server.server_address[1]}")
    monkeypatch.setenv("FIELDPOST_KEY", "fp_a")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    made = tmp_path / "repository"
    made.mkdir()
    monkeypatch.chdir(made)
    yield made
    server.shutdown()
    server.server_close()


def pull(monkeypatch: pytest.MonkeyPatch, *keys: str) -> None:
    forms = {"data": [{"key": key} for key in keys], "pagination": {"pages": 1}}
    monkeypatch.setattr(Service, "answers", {"/api/forms": forms})
    main.main(["forms", "pull"], standalone_mode=False)


@pytest.mark.parametrize("key", ["../outside", "/tmp/outside", "a/../../outside", ".hidden", "a\nb", ""])
def test_pull__key_of_a_service_that_is_no_name__writes_nothing(
    key: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {*folder.parent.rglob("*")}
    with pytest.raises(CommandError, match="is no key of a form"):
        pull(monkeypatch, "inbox", key)
    assert {*folder.parent.rglob("*")} == before


@pytest.mark.parametrize("name", ["inbox.yaml", ".fieldpost.json", ".gitignore"])
@pytest.mark.parametrize("content", [None, "name: Mine\n", "{}"])
def test_pull__link_of_a_repository__is_not_written_through(
    name: str, content: str | None, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = folder.parent / "mine"
    if content is not None:
        mine.write_text(content)
    (folder / "forms").mkdir()
    (folder / "forms" / name).symlink_to(mine)
    monkeypatch.setattr("fieldpost.cli.forms.try_out", lambda *_: [{"path": "fields"}])

    with pytest.raises((CommandError, FileNotFoundError)):
        pull(monkeypatch, "inbox")

    assert (mine.read_text() if mine.exists() else None) == content


@pytest.mark.parametrize(
    "text",
    [
        "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10)),
        "&a\na: *a\n",
        "a: " + "[" * 1_000,
        "a: !!python/object/apply:os.system [id]\nb: !!python/name:os.system x\n",
    ],
    ids=["aliases of aliases", "an alias of itself", "deep", "tags"],
)
def test_file__that_is_a_bomb__is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "inbox.yaml"
    path.write_text(text)
    with pytest.raises(CommandError):
        body_of(path, read(path))


@pytest.mark.usefixtures("folder")
def test_whoami__names_at_a_terminal__cannot_command_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    me = {"organization": {"name": COMMANDS}, "key": {"name": COMMANDS, "hint": COMMANDS}}
    monkeypatch.setattr(Service, "answers", {"/api/me": {"data": me}})
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    main.main(["whoami"], standalone_mode=False)
    shown = capsys.readouterr().out
    assert "title" in shown
    assert not {"\x1b", "\x07", "\x9b"} & set(shown)


@pytest.mark.parametrize("events", ["http://events.example", "//events.example", ""])
def test_listen__stream_without_tls__gets_no_key(events: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in ("FIELDPOST_KEY", "FIELDPOST_URL", "FIELDPOST_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    key = {"id": "key_1", "key": "fp_test_a"}
    save("default", Profile("https://forms.example", events, {"name": "Ada"}, key, key))
    with pytest.raises(CommandError, match="would show the key"):
        events_url(open_session("test"))
