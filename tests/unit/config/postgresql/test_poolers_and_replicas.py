"""DATABASE_DIRECT_URL and DATABASE_REPLICA_URL: what they make of the connections, and their checks."""

import pytest
from pytest_django import Settings

from config import checks
from config import settings as ours
from config.environment.postgresql import LIMIT

PRIMARY = "postgres://one:secret@primary.example:5432/forms?sslmode=require"
REPLICA = "postgres://two:hidden@replica.example:5433/forms?sslmode=verify-full"
POOLER = "postgres://one:secret@primary.example:6432/forms"


def test_replica__is_where_exports_and_analytics_are_read__as_snapshots_of_the_primary_are() -> None:
    found = ours.databases(PRIMARY, replica_url=REPLICA)
    assert set(found) == {"default", "snapshot", "export", "analytics"}
    for name, of in (("export", ours.databases(PRIMARY)["export"]), ("analytics", found["snapshot"])):
        late = found[name]
        assert [late[part] for part in ("USER", "PASSWORD", "HOST", "PORT")] == [
            "two",
            "hidden",
            "replica.example",
            5433,
        ]
        assert late["OPTIONS"] == of["OPTIONS"] | {"sslmode": "verify-full"}


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
