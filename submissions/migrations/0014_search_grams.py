"""
A search index of half the size, and earlier vacuums (docs/adr/0101).

The index before had three trigrams for the edges of each word, which a search inside values cannot use. This one has an
array of numbers for each row, with one for its organization. The last release searches without an index meanwhile.
"""

from typing import Any

from django.db import migrations

from config.migration_operations.concurrently import AddWrittenIndexConcurrently, RemoveWrittenIndexConcurrently

FUNCTION = "submission_grams"
# `show_trgm` marks the edges of words by blanks. Beyond ASCII it gives hashes, so those edges stay in. `hashtext` and
# `uuid_hash` are those of hash indexes, which outlive upgrades of PostgreSQL. RETURN binds names now: a restored dump
# needs no search_path.
MAKE_FUNCTION = f"""
CREATE OR REPLACE FUNCTION {FUNCTION}(organization uuid, content text) RETURNS int[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN uuid_hash(organization)
    || ARRAY(SELECT hashtext(gram) FROM unnest(show_trgm(content)) AS gram WHERE strpos(gram, ' ') = 0)
"""
TABLE = "submissions_submission"
# A new row enters it at dispatch: nobody waits for that.
INDEX = f"ON {TABLE} USING gin ({FUNCTION}(organization_id, search_text)) WHERE dispatched_at IS NOT NULL"
INDEX_BEFORE = f"ON {TABLE} USING gin (search_text gin_trgm_ops) WHERE dispatched_at IS NOT NULL"
# Dispatching writes each row again. With the defaults a fifth of the table is dead rows before their space is used.
VACUUM = "autovacuum_vacuum_scale_factor"
# The table itself unless it is partitioned.
LEAVES = """
    SELECT quote_ident(relname) FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
     WHERE c.relkind = 'r' AND to_regclass(%s) IN (c.oid, i.inhparent)
"""


def make_function(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(MAKE_FUNCTION)


def drop_function(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(f"DROP FUNCTION {FUNCTION}(uuid, text)")


def skip_statistics(apps: Any, schema_editor: Any) -> None:
    """Without this, ANALYZE calls the function for 30,000 rows. No plan needs the result."""
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("ALTER INDEX submission_grams_of_text ALTER COLUMN 1 SET STATISTICS 0")


def vacuum_earlier(apps: Any, schema_editor: Any) -> None:
    change_storage(schema_editor, f"SET ({VACUUM} = 0.05)")


def vacuum_by_default(apps: Any, schema_editor: Any) -> None:
    change_storage(schema_editor, f"RESET ({VACUUM})")


def change_storage(schema_editor: Any, change: str) -> None:
    """Change the table; where it is in partitions, each of them: only these have such parameters."""
    if schema_editor.connection.vendor == "postgresql":
        with schema_editor.connection.cursor() as cursor:
            cursor.execute(LEAVES, [TABLE])
            leaves = [name for (name,) in cursor.fetchall()]
        for name in leaves:
            schema_editor.execute(f"ALTER TABLE {name} {change}")


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("submissions", "0013_confirmation_indexes")]

    operations = [
        migrations.RunPython(make_function, drop_function),
        AddWrittenIndexConcurrently("submission_grams_of_text", INDEX),
        migrations.RunPython(skip_statistics, migrations.RunPython.noop),
        migrations.RunPython(vacuum_earlier, vacuum_by_default),
        RemoveWrittenIndexConcurrently("submission_search", INDEX_BEFORE),
    ]
