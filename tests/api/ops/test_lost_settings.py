"""Commands whose settings got lost on their way: no empty database replaces the service's (docs/contract.md 8.4)."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.services.backing import migrated_sqlite
from tests.services.environment import for_tests
from tests.services.processes import ROOT

KEY = "k" * 50
CUT = "postgres://fieldpost@127.0.0.1:1/fieldpost?sslmode="
MANAGE = ["manage.py"]
CELERY = ["-m", "celery", "-A", "config"]

pytestmark = pytest.mark.on_sqlite


def run(tmp_path: Path, *command: str, **settings: str) -> "subprocess.CompletedProcess[str]":
    environment = {**for_tests(os.environ), "DATA_DIR": str(tmp_path / "data"), **settings}
    return subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=90
    )


@pytest.mark.parametrize(
    "command",
    [
        [*MANAGE, "migrate"],
        [*MANAGE, "check", "--deploy"],
        [*MANAGE, "reencrypt_secrets"],
        [*MANAGE, "create_organization", "Acme", "--owner", "ada@example.com"],
        [*MANAGE, "serve"],
        [*MANAGE, "deliver", "--once"],
        [*CELERY, "worker", "--pool", "solo"],
        [*CELERY, "--skip-checks", "beat"],
    ],
    ids=lambda command: command[-1].strip("-"),
)
def test_command__without_a_database__ends_with_a_hint_and_makes_none(tmp_path: Path, command: list[str]) -> None:
    ended = run(tmp_path, *command, SECRET_KEY=KEY)
    assert ended.returncode != 0
    assert "fieldpost.E029" in ended.stderr
    assert "manage.py --env-file FILE COMMAND" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not [*tmp_path.rglob("*sqlite3*")]


@pytest.mark.parametrize("end", ["?", "&", "="])
def test_command__with_a_url_that_a_shell_has_cut__ends_with_a_hint(tmp_path: Path, end: str) -> None:
    ended = run(tmp_path, *MANAGE, "migrate", SECRET_KEY=KEY, DATABASE_URL=f"{CUT[:-1]}{end}")
    assert ended.returncode != 0
    assert "(fieldpost.E028) DATABASE_URL ends in the middle of its options." in ended.stderr
    assert "Traceback" not in ended.stderr


def test_code_without_checks__and_without_a_database__makes_none(tmp_path: Path) -> None:
    code = "from keys.models import User; print(User.objects.count())"
    ended = run(tmp_path, *MANAGE, "shell", "--command", code, SECRET_KEY=KEY)
    assert "fieldpost.E029" in ended.stderr
    assert not [*tmp_path.rglob("*sqlite3*")]
    without_key = run(tmp_path, *MANAGE, "shell", "--command", code)
    assert without_key.stderr.startswith("manage.py: The SECRET_KEY setting must not be empty.")


def test_database__that_is_there_without_a_url__is_used_with_a_warning(tmp_path: Path) -> None:
    """As after an upgrade of an installation that relied on the default."""
    file = tmp_path / "data" / "fieldpost.sqlite3"
    if copied := migrated_sqlite():
        file.parent.mkdir()
        shutil.copyfile(copied, file)
    migrated = run(tmp_path, *MANAGE, "migrate", SECRET_KEY=KEY, DATABASE_URL=f"sqlite:///{quote(str(file))}")
    assert migrated.returncode == 0
    ended = run(tmp_path, *MANAGE, "create_organization", "Acme", "--owner", "ada@example.com", SECRET_KEY=KEY)
    assert (ended.returncode, ended.stdout) == (0, "acme\n")
    assert f"(fieldpost.W006) DATABASE_URL is not set; {file} is used" in ended.stderr
    backup = tmp_path / "backup"
    assert run(tmp_path, *MANAGE, "backup", str(backup), SECRET_KEY=KEY).returncode == 0
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    if os.geteuid() == 0:  # as root on a new machine: the service is another user
        os.chown(elsewhere, 65534, 65534)
    ended = run(tmp_path, *MANAGE, "restore", str(backup), SECRET_KEY=KEY, DATA_DIR=str(elsewhere))
    assert ended.returncode == 0, ended.stderr
    made = (elsewhere / file.name).stat()
    assert made.st_mode & 0o777 == 0o600
    assert (made.st_uid, made.st_gid) == (elsewhere.stat().st_uid, elsewhere.stat().st_gid)


def test_env_file__with_an_ampersand_in_a_url__leads_every_part_of_it_to_the_command(tmp_path: Path) -> None:
    file = tmp_path / "fieldpost.env"
    url = "postgres://fieldpost:x@127.0.0.1:1/fieldpost?sslmode=verify-full&application_name=a b&connect_timeout=1"
    file.write_bytes(
        f"\N{BYTE ORDER MARK}SECRET_KEY={KEY}\r\nDATABASE_URL={url}\r\nEMAIL_URL='smtp://m:25'\r\n".encode()
    )
    code = (
        "from django.conf import settings; made = settings.DATABASES['default'];"
        "print(made['NAME'], made['OPTIONS']['sslmode'], made['OPTIONS']['application_name'], settings.EMAIL_HOST)"
    )
    lost = {"DATABASE_URL": "sqlite:////nowhere", "SECRET_KEY": "another"}
    ended = run(tmp_path, *MANAGE, "--env-file", str(file), "shell", "--verbosity", "0", "--command", code, **lost)
    assert ended.stdout == "fieldpost verify-full a b m\n"


@pytest.mark.parametrize(
    ("options", "settings", "message"),
    [
        (["--env-file", "/no/such/file"], {}, "/no/such/file cannot be read: No such file or directory."),
        ([], {}, "The SECRET_KEY setting must not be empty. Name the settings: manage.py --env-file FILE COMMAND"),
        ([], {"SECRET_KEY_FILE": "/no/such/file"}, "SECRET_KEY_FILE: /no/such/file cannot be read"),
        ([], {"SECRET_KEY_FILE": "/dev/null", "SECRET_KEY": KEY}, "SECRET_KEY and SECRET_KEY_FILE are both set."),
    ],
)
def test_file_of_settings__that_cannot_be_used__is_one_line_without_a_traceback(
    tmp_path: Path, options: list[str], settings: dict[str, str], message: str
) -> None:
    ended = run(tmp_path, *MANAGE, *options, "migrate", **settings)
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"manage.py: {message}")
    assert ended.stderr.count("\n") == 1


def test_secrets_in_files__are_read_by_a_command(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(f"{KEY}\n")
    (tmp_path / "url").write_text(f"{CUT}require&connect_timeout=1\n")
    settings = {"SECRET_KEY_FILE": str(tmp_path / "key"), "DATABASE_URL_FILE": str(tmp_path / "url")}
    ended = run(tmp_path, *MANAGE, "check", **settings)
    assert ended.returncode == 0, ended.stderr
