"""The index of out-of-date mails, and the constraint that allows one mail without an owner (docs/adr/0034)."""

from django.db import migrations, models

from config.migration_operations.concurrently import AddConstraintConcurrently, AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("webhooks", "0005_mails_in_the_outbox")]

    operations = [
        AddIndexConcurrently(
            "message",
            models.Index(
                condition=models.Q(("expires_at__isnull", False)), fields=["expires_at"], name="message_by_expiry"
            ),
        ),
        AddConstraintConcurrently(
            "delivery",
            models.CheckConstraint(
                condition=models.Q(
                    ("organization__isnull", False),
                    ("account__isnull", False),
                    ("event", "account.mail"),
                    _connector="OR",
                ),
                name="delivery_has_an_owner",
            ),
        ),
    ]
