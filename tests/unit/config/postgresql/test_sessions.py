"""Names and limits of PostgreSQL sessions."""

import pytest

from config.postgresql import sessions


@pytest.mark.parametrize(
    ("command", "role"),
    [
        (["manage.py", "events", "--host", "0.0.0.0"], "events"),
        (["/opt/fieldpost/manage.py", "migrate"], "migrate"),
        (["/opt/.venv/bin/celery", "-A", "config", "worker", "--concurrency", "2"], "worker"),
        (["/opt/.venv/lib/celery/__main__.py", "-A", "config", "beat"], "beat"),
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
    monkeypatch.delenv(sessions.ROLE_VARIABLE, raising=False)
    assert sessions.role(command) == role
    monkeypatch.setenv(sessions.ROLE_VARIABLE, "web")
    assert sessions.role(command) == "web"


def test_statement_timeout__is_short_where_someone_waits_and_leaves_the_operators_own_last() -> None:
    """PostgreSQL takes the last of two equal options; 0 sends none, for pgbouncer."""
    assert sessions.statement_seconds("web", 30, 600) == 30
    assert sessions.statement_seconds("worker", 30, 600) == 600
    given = sessions.with_statement_timeout("-c statement_timeout=9", 1.5)
    assert given == "-c statement_timeout=1500 -c statement_timeout=9"
    assert sessions.with_statement_timeout("", 0) == ""
