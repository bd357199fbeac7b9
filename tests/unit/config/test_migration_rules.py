"""Migrations leave the service of the release before running (docs/running.md, Upgrades)."""

from typing import Any

import pytest
from django.apps import apps
from django.db import migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation

from config.migration_operations.concurrently import AddConstraintConcurrently, AddIndexConcurrently
from tests.support.migrations.rules import FREEZE, is_new, violations

# Columns whose default only Python can make. Every release knows them.
MADE_IN_PYTHON = {"Receiver.secret"}


def throw_away(*operations: Operation, app: str = "submissions", atomic: bool = True) -> migrations.Migration:
    """Return a migration after the rules."""
    body = {"operations": list(operations), "atomic": atomic}
    made: type[migrations.Migration] = type("Migration", (migrations.Migration,), body)
    return made("0099_throw_away", app)


def add(model: str, field: Any) -> migrations.AddField:
    return migrations.AddField(model, "extra", field)


def test_columns_with_a_python_default__have_one_in_the_database() -> None:
    """Code of another release may insert rows without them."""
    missing = {
        f"{model.__name__}.{field.name}"
        for app in FREEZE
        for model in apps.get_app_config(app).get_models()
        for field in model._meta.local_concrete_fields
        if field.has_default() and not (field.null or field.primary_key or field.has_db_default())
    }
    assert {name for name in missing if not name.startswith("User.is_superuser")} <= MADE_IN_PYTHON


def test_migrations_since_the_rules__keep_them() -> None:
    """A sentence here says what to write instead."""
    found = [each for each in MigrationLoader(None).disk_migrations.values() if is_new(each)]
    assert {each.app_label for each in found} == set(FREEZE)
    assert [sentence for migration in found for sentence in violations(migration)] == []


INDEX = models.Index(fields=["form"], name="extra")
CHECK = models.CheckConstraint(condition=models.Q(spam=False), name="extra")


@pytest.mark.parametrize(
    ("operation", "says"),
    [
        (add("form", models.CharField(max_length=5)), "db_default or null=True"),
        (add("form", models.BooleanField(default=False)), "db_default or null=True"),
        (add("submission", models.GenericIPAddressField(null=True, db_index=True)), "index concurrently"),
        (migrations.AddIndex("submission", INDEX), "config.migration_operations"),
        (migrations.AddConstraint("submission", CHECK), "config.migration_operations"),
        (migrations.RemoveIndex("submission", "submission_by_form"), "config.migration_operations"),
        (AddIndexConcurrently("submission", INDEX), "atomic = False"),
        (AddConstraintConcurrently("submission", CHECK), "atomic = False"),
        (migrations.RemoveField("form", "name"), "one release after"),
        (migrations.RenameField("form", "name", "title"), "one release after"),
    ],
)
def test_hurtful_operation__is_refused_with_what_to_write(operation: Operation, says: str) -> None:
    """The rules' own test."""
    (sentence,) = violations(throw_away(operation))
    assert says in sentence


@pytest.mark.parametrize(
    "operation",
    [
        add("submission", models.BooleanField(default=False, db_default=False)),
        add("submission", models.GenericIPAddressField(null=True)),
        AddIndexConcurrently("submission", INDEX),
        migrations.AddIndex("form", INDEX),
    ],
)
def test_harmless_operation__passes(operation: Operation) -> None:
    """Nullable or with a default; an index of a large table concurrently."""
    assert violations(throw_away(operation, atomic=False)) == []
