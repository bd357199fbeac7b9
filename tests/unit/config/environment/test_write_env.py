"""The file that the first `make run` writes."""

import stat
from pathlib import Path

import environ

from config.environment.env_file import read_env_file
from config.write_env import write_environment


def test_write_environment__in_a_folder_with_any_name__names_the_database_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "50% of #1 & Größe?"
    assert write_environment(folder)
    file = folder / "env"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    written = read_env_file(file)
    assert environ.Env.db_url_config(written["DATABASE_URL"])["NAME"] == str(folder / "fieldpost.sqlite3")
    assert min(len(written[name]) for name in ("SECRET_KEY", "ENCRYPTION_KEYS")) >= 50
    assert not write_environment(folder)
    assert read_env_file(file) == written
