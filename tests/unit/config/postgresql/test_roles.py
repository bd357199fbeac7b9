"""Names, limits and connections of the roles."""

import pytest

from config.environment import postgresql
from config.settings import databases


@pytest.mark.parametrize(
    ("command", "role"),
    [
        (["manage.py", "events", "--host", "0.0.0.0"], "events"),
        (["/opt/fieldpost/manage.py", "migrate"], "migrate"),
        (["/opt/.venv/bin/celery", "-A", "config", "worker", "--concurrency", "2"], "worker"),
        (["/opt/.venv/lib/celery/__main__.py", "-A", "config", "--skip-checks", "beat"], "beat"),
        (["/opt/.venv/bin/celery", "-A", "config", "inspect", "ping"], "celery"),
        (["manage.py", "--help"], "manage"),
        (["/usr/bin/pytest", "-q"], "pytest"),
        ([""], "python"),
    ],
)
def test_role__of_a_command__is_its_part_of_the_service(
    command: list[str], role: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A web process has no command: config.wsgi names it."""
    monkeypatch.delenv(postgresql.ROLE_VARIABLE, raising=False)
    assert postgresql.role(command) == role
    monkeypatch.setenv(postgresql.ROLE_VARIABLE, "web")
    assert postgresql.role(command) == "web"


@pytest.mark.parametrize(("role", "seconds"), [("web", 5), ("events", 5), ("worker", 600), ("deliver", 600)])
def test_connections__of_a_role__are_kept_and_have_its_limit(
    role: str, seconds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(postgresql.ROLE_VARIABLE, role)
    found = databases("postgres://one:secret@primary.example:5432/forms")
    for alias in ("default", "snapshot"):
        assert found[alias]["OPTIONS"]["options"] == f"-c statement_timeout={seconds}000"
        assert found[alias]["OPTIONS"]["application_name"] == f"fieldpost-{role}"
        assert found[alias]["CONN_MAX_AGE"] is None
        assert found[alias]["CONN_HEALTH_CHECKS"]
    assert found["export"]["OPTIONS"]["options"] == "-c statement_timeout=600000"


def test_statement_timeout__leaves_the_operators_own_last() -> None:
    """PostgreSQL takes the last of two equal options; 0 sends none."""
    given = postgresql.with_statement_timeout("-c statement_timeout=9", 1.5)
    assert given == "-c statement_timeout=1500 -c statement_timeout=9"
    assert postgresql.with_statement_timeout("", 0) == ""
