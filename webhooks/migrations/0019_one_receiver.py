"""
Webhooks and destinations become one table of receivers, with the ids that they have.

Code of the release before cannot run beside it: docs/running.md, Upgrades.
"""

import django.db.models.deletion
from django.db import migrations, models

import config.secrets.encryption
import webhooks.signing

MERGE = (
    "UPDATE webhooks_receiver SET organization_id = COALESCE(all_forms_of_id, "
    "(SELECT f.organization_id FROM forms_app_form f WHERE f.id = webhooks_receiver.form_id))",
    "INSERT INTO webhooks_receiver (id, organization_id, form_id, kind, name, config, status, disabled_reason, "
    "quiet_until, created_at, deleted_at, url, secret, previous_secret) SELECT id, organization_id, form_id, kind, "
    "name, config, status, disabled_reason, quiet_until, created_at, deleted_at, '', '', '' FROM webhooks_destination",
    "UPDATE webhooks_delivery SET webhook_id = destination_id WHERE destination_id IS NOT NULL",
)
SPLIT = (
    "INSERT INTO webhooks_destination (id, organization_id, form_id, kind, name, config, status, disabled_reason, "
    "quiet_until, created_at, deleted_at) SELECT id, organization_id, form_id, kind, name, config, status, "
    "disabled_reason, quiet_until, created_at, deleted_at FROM webhooks_receiver WHERE kind <> 'webhook'",
    "UPDATE webhooks_delivery SET destination_id = webhook_id, webhook_id = NULL WHERE channel = 'destination'",
    "DELETE FROM webhooks_receiver WHERE kind <> 'webhook'",
    "UPDATE webhooks_receiver SET all_forms_of_id = organization_id WHERE form_id IS NULL",
)


def execute(editor, statements):
    """Execute them; on PostgreSQL check their keys at once, or the tables could not be altered afterwards."""
    if editor.connection.vendor == "postgresql":
        editor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    for statement in statements:
        editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [
        ("forms_app", "0001_initial"),
        ("keys", "0001_initial"),
        ("webhooks", "0018_lost_claims_are_due_like_others"),
    ]

    operations = [
        migrations.RemoveConstraint("webhook", "webhook_url_once_per_form"),
        migrations.RemoveConstraint("webhook", "webhook_url_once_for_all_forms"),
        migrations.RemoveConstraint("webhook", "webhook_serves_one_form_or_all"),
        migrations.RemoveConstraint("webhook", "webhook_status_is_known"),
        migrations.RemoveConstraint("webhook", "webhook_disabled_has_a_reason"),
        migrations.RemoveConstraint("delivery", "delivery_by_webhook_has_one"),
        migrations.RemoveIndex("delivery", "delivery_by_webhook"),
        migrations.RemoveIndex("delivery", "delivery_by_destination"),
        migrations.RemoveIndex("delivery", "delivery_log_of_destination"),
        migrations.RemoveIndex("delivery", "delivery_unsent_by_webhook"),
        migrations.RenameModel("Webhook", "Receiver"),
        migrations.AddField(
            "receiver",
            "organization",
            models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="receivers",
                to="keys.organization",
            ),
        ),
        migrations.AddField(
            "receiver", "kind", models.CharField(db_default="webhook", default="webhook", max_length=20)
        ),
        migrations.AddField(
            "receiver", "name", models.CharField(blank=True, db_default="", default="", max_length=200)
        ),
        migrations.AddField(
            "receiver",
            "config",
            config.secrets.encryption.SealedTextField(blank=True, db_default="", default="", editable=False),
        ),
        migrations.AddField(
            "receiver",
            "quiet_until",
            models.DateTimeField(
                blank=True,
                editable=False,
                help_text="Nothing is sent before: its pace, or the receiver's wish.",
                null=True,
            ),
        ),
        migrations.AlterField(
            "receiver",
            "form",
            models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="receivers",
                to="forms_app.form",
            ),
        ),
        migrations.AlterField(
            "receiver", "url", models.CharField(blank=True, db_default="", default="", max_length=2048)
        ),
        migrations.AlterField(
            "receiver",
            "status",
            models.CharField(
                choices=[
                    ("active", "Active"),
                    ("pending", "Pending"),
                    ("disabled", "Disabled"),
                    ("needs_attention", "Needs attention"),
                ],
                db_default="active",
                default="active",
                max_length=20,
            ),
        ),
        migrations.AlterField(
            "receiver", "disabled_reason", models.CharField(blank=True, db_default="", default="", max_length=300)
        ),
        migrations.AlterField(
            "receiver",
            "secret",
            config.secrets.encryption.EncryptedTextField(
                blank=True, default=webhooks.signing.new_secret, editable=False
            ),
        ),
        migrations.AlterField(
            "receiver",
            "previous_secret",
            config.secrets.encryption.EncryptedTextField(blank=True, db_default="", default="", editable=False),
        ),
        migrations.RunPython(
            lambda _apps, editor: execute(editor, MERGE), lambda _apps, editor: execute(editor, SPLIT)
        ),
        migrations.RemoveField("delivery", "destination"),
        migrations.RenameField("delivery", "webhook", "receiver"),
        migrations.RemoveField("receiver", "all_forms_of"),
        migrations.AlterField(
            "receiver",
            "organization",
            models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="receivers",
                to="keys.organization",
            ),
        ),
        migrations.DeleteModel("Destination"),
        migrations.AddIndex(
            "receiver", models.Index(fields=["organization", "-id"], name="receiver_by_organization")
        ),
        migrations.AddConstraint(
            "receiver",
            models.UniqueConstraint(
                condition=models.Q(("kind", "webhook")), fields=("form", "url"), name="webhook_url_once_per_form"
            ),
        ),
        migrations.AddConstraint(
            "receiver",
            models.UniqueConstraint(
                condition=models.Q(("form", None), ("kind", "webhook")),
                fields=("organization", "url"),
                name="webhook_url_once_for_all_forms",
            ),
        ),
        migrations.AddConstraint(
            "receiver",
            models.CheckConstraint(
                condition=models.Q(
                    ("status__in", ["active", "disabled"]),
                    models.Q(("kind", "webhook"), ("status", "pending")),
                    models.Q(models.Q(("kind", "webhook"), _negated=True), ("status", "needs_attention")),
                    _connector="OR",
                ),
                name="receiver_status_is_of_its_kind",
            ),
        ),
        migrations.AddConstraint(
            "receiver",
            models.CheckConstraint(
                condition=models.Q(
                    models.Q(("disabled_reason", ""), ("status__in", ["active", "pending"])),
                    models.Q(
                        models.Q(("status__in", ["active", "pending"]), _negated=True),
                        models.Q(("disabled_reason", ""), _negated=True),
                    ),
                    _connector="OR",
                ),
                name="receiver_stopped_has_a_reason",
            ),
        ),
        migrations.AddConstraint(
            "receiver",
            models.CheckConstraint(
                condition=models.Q(
                    models.Q(("config", ""), ("kind", "webhook"), models.Q(("url", ""), _negated=True)),
                    models.Q(
                        models.Q(("kind", "webhook"), _negated=True),
                        ("url", ""),
                        models.Q(("config", ""), _negated=True),
                    ),
                    _connector="OR",
                ),
                name="receiver_is_a_webhook_or_has_a_config",
            ),
        ),
        migrations.AddConstraint(
            "delivery",
            models.CheckConstraint(
                condition=models.Q(
                    models.Q(("channel__in", ["webhook", "destination"]), ("receiver__isnull", False)),
                    models.Q(
                        models.Q(("channel__in", ["", "webhook", "destination"]), _negated=True), ("receiver", None)
                    ),
                    _connector="OR",
                ),
                name="delivery_to_a_receiver_has_one",
            ),
        ),
        migrations.AddIndex(
            "delivery",
            models.Index(
                condition=models.Q(("receiver__isnull", False)),
                fields=["receiver", "-id"],
                name="delivery_by_receiver",
            ),
        ),
        migrations.AddIndex(
            "delivery",
            models.Index(
                condition=models.Q(("status__in", ["pending", "held"])),
                fields=["receiver"],
                name="delivery_unsent_by_receiver",
            ),
        ),
    ]
