"""DATABASE_DIRECT_URL and DATABASE_REPLICA_URL: what they make of the connections, and their checks."""

import pytest
from pytest_django import Settings

from config import checks
from config import settings as ours
from config.postgresql.connections import LIMIT
from config.postgresql.watched import WatchedReplicaConnection

PRIMARY = "postgres://one:secret@primary.example:5432/forms?sslmode=require"
REPLICA = "postgres://two:hidden@replica.example:5433/forms?sslmode=verify-full"
POOLER = "postgres://one:secret@primary.example:6432/forms"


@pytest.fixture
def with_replica(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ours, "REPLICA_OF", {ours.SNAPSHOT: ours.REPLICA, ours.EXPORT: ours.REPLICA_EXPORT})


def test_replica__has_its_own_place_and_options_and_the_isolation_of_the_primary_s_snapshots(
    with_replica: None,  # noqa: ARG001 - a fixture for its effect
) -> None:
    found = ours.databases(PRIMARY, replica_url=REPLICA)
    assert set(found) == {"default", "snapshot", "export", "replica", "replica_export"}
    for late, of in (("replica", "snapshot"), ("replica_export", "export")):
        assert [found[late][name] for name in ("USER", "PASSWORD", "HOST", "PORT")] == [
            *("two", "hidden", "replica.example", 5433)
        ]
        assert found[late]["OPTIONS"]["sslmode"] == "verify-full"
        assert found[of]["OPTIONS"]["sslmode"] == "require"
        for name in ("isolation_level", "options", "tcp_user_timeout"):
            assert found[late]["OPTIONS"][name] == found[of]["OPTIONS"][name]


def test_replica__with_a_pool__has_its_own_watch(
    with_replica: None,  # noqa: ARG001 - a fixture for its effect
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ours, "DATABASE_POOL_SIZE", 7)
    found = ours.databases(PRIMARY, replica_url=REPLICA)
    assert found["replica"]["OPTIONS"]["pool"]["max_size"] == 7
    assert found["replica"]["OPTIONS"]["pool"]["connection_class"] is WatchedReplicaConnection
    assert found["snapshot"]["OPTIONS"]["pool"]["connection_class"] is not WatchedReplicaConnection
    assert "pool" not in found["replica_export"]["OPTIONS"]


def test_pooler__gets_no_session_options__and_limits_hold_in_transactions() -> None:
    found = ours.databases(POOLER, has_pooler=True)
    assert all("options" not in database["OPTIONS"] for database in found.values())
    assert found["default"]["DISABLE_SERVER_SIDE_CURSORS"]
    assert not found["export"].get("DISABLE_SERVER_SIDE_CURSORS")  # it reads a million rows in constant memory
    assert found["export"][LIMIT] == ours.LONG_STATEMENT_SECONDS
    assert "options" in ours.databases(PRIMARY)["default"]["OPTIONS"]


@pytest.mark.parametrize(
    ("primary", "direct", "replica", "found"),
    [
        (PRIMARY, "", "", []),
        (PRIMARY, "", REPLICA, []),
        (POOLER, PRIMARY, REPLICA, []),
        (PRIMARY, "", PRIMARY.replace("postgres:", "postgresql:"), ["fieldpost.E026"]),
        (POOLER, PRIMARY, PRIMARY, ["fieldpost.E026"]),
        (PRIMARY, "", "sqlite:////tmp/other.sqlite3", ["fieldpost.E025"]),
        ("sqlite:////tmp/one.sqlite3", "", REPLICA, ["fieldpost.E025"]),
        (PRIMARY, PRIMARY, "", ["fieldpost.E027"]),
        ("sqlite:////tmp/one.sqlite3", PRIMARY, "", ["fieldpost.E027"]),
    ],
)
def test_check__of_the_two_urls__finds_those_that_lead_to_the_wrong_place(
    settings: Settings, primary: str, direct: str, replica: str, found: list[str]
) -> None:
    settings.DATABASE_URL, settings.DATABASE_DIRECT_URL, settings.DATABASE_REPLICA_URL = primary, direct, replica
    errors = [*checks.check_replica(), *checks.check_pooler()]
    assert [error.id for error in errors] == found
    assert not any("secret" in str(error) or "hidden" in str(error) for error in errors)
