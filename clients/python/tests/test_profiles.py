"""Profiles: who may read them, and where their keys go."""

import json
import os
import stat
import sys
import types
from pathlib import Path

import pytest

from fieldpost.cli import profiles
from fieldpost.cli.output import CommandError
from fieldpost.cli.profiles import Profile
from fieldpost.cli.session import open_session

URL = "https://forms.example"
PROFILE = Profile(
    URL, f"{URL}/live", {"name": "Ada"}, {"id": "key_1", "key": "fp_live"}, {"id": "key_2", "key": "fp_test_1"}
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("FIELDPOST_KEY", "FIELDPOST_URL", "FIELDPOST_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setitem(sys.modules, "keyring", None)
    return tmp_path / "fieldpost"


def test_save__profile__only_its_owner_reads_it(folder: Path) -> None:
    folder.mkdir(mode=0o755)
    before = os.umask(0)
    try:
        profiles.save("default", PROFILE)
        profiles.save("default", PROFILE)
    finally:
        os.umask(before)

    assert [path.name for path in folder.iterdir()] == ["default.json"]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "default.json").stat().st_mode) == 0o600
    assert profiles.load("default") == PROFILE
    profiles.forget("default", PROFILE)
    assert profiles.load("default") is None


def test_folder__without_xdg__is_below_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))

    assert profiles.folder() == tmp_path / ".config" / "fieldpost"


def test_save__with_a_keyring__keeps_keys_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The keyring of a desktop cannot run here: this one has its three functions."""
    kept: dict[tuple[str, str], str] = {}
    keyring, backends = types.ModuleType("keyring"), types.ModuleType("keyring.backends")
    fail = types.SimpleNamespace(Keyring=type("Keyring", (), {}))
    functions = {
        "get_keyring": object,
        "set_password": lambda service, name, key: kept.__setitem__((service, name), key),
        "get_password": lambda service, name: kept.get((service, name)),
        "delete_password": lambda service, name: kept.pop((service, name)),
    }
    vars(keyring).update(functions)
    vars(backends)["fail"] = fail
    monkeypatch.setitem(sys.modules, "keyring", keyring)
    monkeypatch.setitem(sys.modules, "keyring.backends", backends)

    profiles.save("default", PROFILE)

    text = (folder / "default.json").read_text()
    assert "fp_" not in text
    assert profiles.load("default") == PROFILE
    profiles.forget("default", PROFILE)
    assert kept == {}
    (folder / "default.json").write_text(text)
    with pytest.raises(CommandError) as caught:
        profiles.load("default")
    assert caught.value.code == "not_logged_in"


@pytest.mark.parametrize("url", ["https://other.example", "http://forms.example", "https://forms.example:8443"])
def test_session__profile_of_another_address__does_not_give_its_key(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    profiles.save("default", PROFILE)
    monkeypatch.setenv("FIELDPOST_URL", url)

    with pytest.raises(CommandError) as caught:
        open_session()

    assert caught.value.code == "not_logged_in"


def test_session__of_profile_or_environment__has_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    profiles.save("work", PROFILE)
    monkeypatch.setenv("FIELDPOST_PROFILE", "work")
    monkeypatch.setenv("FIELDPOST_URL", f"{URL}/")

    of_profile = [(one.url, one.key, one.profile) for one in (open_session(), open_session("test"))]
    monkeypatch.setenv("FIELDPOST_KEY", "fp_other")
    with_url = open_session()
    monkeypatch.delenv("FIELDPOST_URL")
    without_url = open_session("test")

    assert of_profile == [(URL, "fp_live", "work"), (URL, "fp_test_1", "work")]
    assert [(one.url, one.key, one.profile) for one in (with_url, without_url)] == [(URL, "fp_other", None)] * 2


@pytest.mark.parametrize("name", ["../work", "a b", "ä", "a" * 65, "."])
def test_session__profile_of_another_alphabet__is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIELDPOST_PROFILE", name)

    with pytest.raises(CommandError) as caught:
        open_session()

    assert caught.value.code == "usage"


@pytest.mark.parametrize("text", ["", "[]", "{}", json.dumps({"live": {"key": "a"}, "test": {"key": "b"}}), "no JSON"])
def test_load__file_that_is_no_profile__says_so(text: str, folder: Path) -> None:
    folder.mkdir()
    (folder / "default.json").write_text(text)

    with pytest.raises(CommandError) as caught:
        profiles.load("default")

    assert caught.value.code == "invalid_file"
