"""
Messages stored once for their event; deliveries by channel, target and event.

The new columns start nullable, are filled in ranges of RANGE ids by the database itself, and become NOT NULL last: on
SQLite each such step copies the table, which by then has lost the bodies. In one transaction, on both databases.
"""

import uuid
from urllib.parse import urlsplit

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import config.ids
import config.times

RANGE = 10_000
FIRST_ID = uuid.UUID(int=0)
KNOWN_EVENTS = "('submission.created', 'test', 'webhook.disabled')"

INSERT_MESSAGES_OF_SUBMISSIONS = """
    INSERT INTO webhooks_message (id, event, submission_id, body, created_at)
    SELECT d.submission_id, 'submission.created', d.submission_id, d.body, d.created_at
    FROM webhooks_delivery d
    WHERE d.kind = 'submission' AND d.id > %s AND d.id <= %s AND d.id = (
        SELECT same.id FROM webhooks_delivery same
        WHERE same.submission_id = d.submission_id AND same.kind = 'submission'
        ORDER BY CASE WHEN same.body = '' THEN 1 ELSE 0 END, same.id LIMIT 1
    )
"""
INSERT_OTHER_MESSAGES = """
    INSERT INTO webhooks_message (id, event, submission_id, body, created_at)
    SELECT id, CASE kind WHEN 'test' THEN 'test' WHEN 'notice' THEN 'webhook.disabled' ELSE 'submission.created' END,
        NULL, body, created_at
    FROM webhooks_delivery
    WHERE (kind <> 'submission' OR submission_id IS NULL) AND id > %s AND id <= %s
"""
FILL_DELIVERIES = """
    UPDATE webhooks_delivery SET
        event = CASE kind WHEN 'test' THEN 'test' WHEN 'notice' THEN 'webhook.disabled' ELSE 'submission.created' END,
        channel = CASE WHEN webhook_id IS NULL THEN 'mail' ELSE 'webhook' END,
        target = COALESCE((SELECT t.target FROM webhook_target t WHERE t.id = webhook_id), recipient),
        host = COALESCE((SELECT t.host FROM webhook_target t WHERE t.id = webhook_id), ''),
        priority = 0,
        message_id = CASE WHEN kind = 'submission' AND submission_id IS NOT NULL THEN submission_id ELSE id END
    WHERE id > %s AND id <= %s
"""
RESTORE_DELIVERIES = """
    UPDATE webhooks_delivery SET
        kind = CASE event WHEN 'test' THEN 'test' WHEN 'webhook.disabled' THEN 'notice' ELSE 'submission' END,
        recipient = CASE WHEN webhook_id IS NULL THEN target ELSE '' END,
        body = CASE
            WHEN webhook_id IS NULL AND submission_id IS NOT NULL THEN ''
            ELSE (SELECT m.body FROM webhooks_message m WHERE m.id = message_id)
        END
    WHERE id > %s AND id <= %s
"""


def fill(apps, schema_editor):
    """Store each message once and fill the new columns."""
    with schema_editor.connection.cursor() as cursor:
        uuid_type = "uuid" if schema_editor.connection.vendor == "postgresql" else "char(32)"
        cursor.execute(f"CREATE TEMPORARY TABLE webhook_target (id {uuid_type} PRIMARY KEY, target text, host text)")
        _fill_targets(apps.get_model("webhooks", "Webhook"), cursor, schema_editor.connection)
        for bounds in _ranges(cursor, schema_editor.connection):
            for statement in (INSERT_MESSAGES_OF_SUBMISSIONS, INSERT_OTHER_MESSAGES, FILL_DELIVERIES):
                cursor.execute(statement, bounds)
        cursor.execute("DROP TABLE webhook_target")
    _check_foreign_keys(schema_editor)


def restore(apps, schema_editor):
    """Give each delivery its own copy of the message again."""
    adapt = _adapt(schema_editor.connection)
    rows = apps.get_model("webhooks", "Delivery").objects.order_by("id")
    with schema_editor.connection.cursor() as cursor:
        for bounds in _ranges(cursor, schema_editor.connection):
            cursor.execute(RESTORE_DELIVERIES, bounds)
            found = rows.filter(id__gt=bounds[0], id__lte=bounds[1]).values_list("message_id", "id")
            ids = [(config.ids.encode_id("msg", message), adapt(delivery)) for message, delivery in found]
            cursor.executemany("UPDATE webhooks_delivery SET wire_id = %s WHERE id = %s", ids)
    _check_foreign_keys(schema_editor)


def delete_unknown(apps, schema_editor):
    """Delete the deliveries that the former table cannot hold."""
    unknown = (
        "SELECT id FROM webhooks_delivery WHERE organization_id IS NULL"
        f" OR channel NOT IN ('webhook', 'mail') OR event NOT IN {KNOWN_EVENTS}"
    )
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM webhooks_attempt WHERE delivery_id IN ({unknown})")
        cursor.execute(f"DELETE FROM webhooks_delivery WHERE id IN ({unknown})")
    _check_foreign_keys(schema_editor)


def _fill_targets(webhooks, cursor, connection):
    adapt = _adapt(connection)
    batch = []
    for pk, url in webhooks.objects.values_list("id", "url").iterator(chunk_size=1000):
        batch.append((adapt(pk), config.ids.encode_id("whk", pk), _host_of(url)))
        if len(batch) == 1000:
            cursor.executemany("INSERT INTO webhook_target VALUES (%s, %s, %s)", batch)
            batch = []
    if batch:
        cursor.executemany("INSERT INTO webhook_target VALUES (%s, %s, %s)", batch)


def _host_of(url):
    try:
        return (urlsplit(url).hostname or "")[:255]
    except ValueError:
        return ""


def _ranges(cursor, connection):
    """Yield `(after, up_to)` of each RANGE deliveries, in the order of their ids, as the driver takes them."""
    after = _adapt(connection)(FIRST_ID)
    while True:
        cursor.execute(
            "SELECT id FROM (SELECT id FROM webhooks_delivery WHERE id > %s ORDER BY id LIMIT %s) ids"
            " ORDER BY id DESC LIMIT 1",
            [after, RANGE],
        )
        row = cursor.fetchone()
        if row is None:
            return
        yield after, row[0]
        after = row[0]


def _adapt(connection):
    """Return a function from a UUID to what the driver takes."""
    return (lambda value: value) if connection.features.has_native_uuid_field else (lambda value: value.hex)


def _check_foreign_keys(schema_editor):
    """PostgreSQL refuses to alter a table with deferred checks; this makes them now."""
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        schema_editor.execute("SET CONSTRAINTS ALL DEFERRED")


class Migration(migrations.Migration):

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("keys", "0002_access_key_secret_made_at"),
        ("submissions", "0002_quick_lists_and_search"),
        ("webhooks", "0002_undelivered"),
    ]

    operations = [
        migrations.CreateModel(
            name="Message",
            fields=[
                (
                    "id",
                    models.UUIDField(default=config.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                ("event", models.CharField(max_length=60)),
                (
                    "submission",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="submissions.submission",
                    ),
                ),
                ("body", models.TextField(blank=True)),
                ("created_at", models.DateTimeField(default=config.times.now)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("submission", "event"), name="message_once_per_submission_and_event"
                    )
                ],
            },
        ),
        # Before the data moves, so that on the way back it moves before they are checked.
        migrations.RemoveConstraint("delivery", "delivery_goes_to_a_webhook_or_an_address"),
        migrations.RemoveConstraint("delivery", "delivery_once_per_submission_and_webhook"),
        migrations.RemoveConstraint("delivery", "delivery_once_per_submission_and_address"),
        # Its column's name is that of the new foreign key's. Blank, so that it can be added again on the way back.
        migrations.RenameField("delivery", "message_id", "wire_id"),
        migrations.AlterField("delivery", "wire_id", models.CharField(blank=True, max_length=40)),
        migrations.AddField(
            "delivery",
            "message",
            models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="deliveries",
                to="webhooks.message",
            ),
        ),
        migrations.AddField(
            "delivery",
            "account",
            models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField("delivery", "event", models.CharField(max_length=60, null=True)),
        migrations.AddField("delivery", "channel", models.CharField(max_length=20, null=True)),
        migrations.AddField("delivery", "target", models.CharField(max_length=254, null=True)),
        migrations.AddField("delivery", "host", models.CharField(blank=True, max_length=255, null=True)),
        migrations.AddField("delivery", "key", models.CharField(blank=True, max_length=200, null=True)),
        migrations.AddField("delivery", "priority", models.SmallIntegerField(null=True)),
        migrations.RunPython(fill, restore),
        migrations.RemoveField("delivery", "body"),
        migrations.RemoveField("delivery", "wire_id"),
        migrations.RemoveIndex("delivery", "delivery_in_flight"),
        migrations.RenameIndex("delivery", "delivery_unsent_by_webhook", old_name="delivery_owed_to_webhook"),
        migrations.RemoveField("delivery", "kind"),
        migrations.RemoveField("delivery", "recipient"),
        migrations.AlterField(
            "delivery",
            "message",
            models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="deliveries",
                to="webhooks.message",
            ),
        ),
        migrations.AlterField("delivery", "event", models.CharField(db_default="", max_length=60)),
        migrations.AlterField("delivery", "channel", models.CharField(db_default="", max_length=20)),
        migrations.AlterField("delivery", "target", models.CharField(db_default="", max_length=254)),
        migrations.AlterField(
            "delivery", "host", models.CharField(blank=True, db_default="", default="", max_length=255)
        ),
        migrations.AlterField("delivery", "priority", models.SmallIntegerField(db_default=0, default=0)),
        migrations.AlterField(
            "delivery",
            "organization",
            models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="keys.organization",
            ),
        ),
        migrations.AddConstraint(
            "delivery",
            models.UniqueConstraint(
                fields=("submission", "event", "channel", "target"), name="delivery_once_per_submission_and_target"
            ),
        ),
        # The constraint's index serves it as well.
        migrations.AlterField(
            "delivery",
            "submission",
            models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="deliveries",
                to="submissions.submission",
            ),
        ),
        migrations.AddConstraint(
            "delivery",
            models.UniqueConstraint(
                condition=models.Q(("key__isnull", False)), fields=("key",), name="delivery_once_per_key"
            ),
        ),
        migrations.AddConstraint(
            "delivery",
            models.CheckConstraint(
                condition=models.Q(("organization__isnull", False), ("account__isnull", False), _connector="OR"),
                name="delivery_has_an_owner",
            ),
        ),
        migrations.AddConstraint(
            "delivery",
            models.CheckConstraint(
                condition=models.Q(models.Q(("event", ""), _negated=True), models.Q(("target", ""), _negated=True)),
                name="delivery_names_event_and_target",
            ),
        ),
        migrations.AddConstraint(
            "delivery",
            models.CheckConstraint(
                condition=models.Q(
                    models.Q(("channel", "webhook"), ("webhook__isnull", False)),
                    models.Q(models.Q(("channel__in", ["", "webhook"]), _negated=True), ("webhook", None)),
                    _connector="OR",
                ),
                name="delivery_by_webhook_has_one",
            ),
        ),
        migrations.AddIndex(
            "delivery",
            models.Index(
                condition=models.Q(("priority__gt", 0), ("status", "pending")),
                fields=["-priority", "next_attempt_at"],
                name="delivery_due_first",
            ),
        ),
        migrations.AddIndex("delivery", models.Index(fields=["message"], name="delivery_by_message")),
        migrations.AddIndex(
            "delivery",
            models.Index(
                condition=models.Q(("account__isnull", False)), fields=["account"], name="delivery_by_account"
            ),
        ),
        migrations.AddIndex(
            "delivery",
            models.Index(
                condition=models.Q(("lease_token__isnull", False)),
                fields=["channel", "target"],
                name="delivery_in_flight",
            ),
        ),
        migrations.AlterField(
            "attempt",
            "error",
            models.CharField(
                blank=True,
                choices=[
                    ("timeout", "No answer in time"),
                    ("dns_failure", "The host name could not be resolved"),
                    ("url_refused", "The URL is not allowed"),
                    ("address_refused", "The host leads to an address or port that is not allowed"),
                    ("connection_refused", "The host refused the connection"),
                    ("connection_failed", "The connection failed or was closed without an answer"),
                    ("tls_failure", "No secure connection: the certificate or the protocol was not accepted"),
                    ("redirect", "The URL redirects, which is not followed"),
                    ("http_error", "The answer was not a 2xx status"),
                    ("invalid_response", "The answer was not valid HTTP"),
                    ("mail_refused", "The mail server refused this mail permanently"),
                    ("mail_failed", "The mail server could not take the mail now"),
                    ("canceled", "Canceled before it was sent"),
                    ("internal_error", "A fault on our side"),
                ],
                max_length=30,
            ),
        ),
        migrations.RunPython(migrations.RunPython.noop, delete_unknown),
    ]
