"""A webhook serves one form, or all forms of an organization (docs/adr/0084)."""

import django.db.models.deletion
from django.core.management.base import CommandError
from django.db import migrations, models


def refuse_those_of_all_forms(apps, schema_editor):
    """Going back deletes nothing: the schema before has no place for these webhooks."""
    webhooks = apps.get_model("webhooks", "Webhook").objects.using(schema_editor.connection.alias)
    count = webhooks.filter(form=None).count()
    if count:
        raise CommandError(f"Webhooks that serve all forms of an organization: {count}. Delete them, then go back.")


class Migration(migrations.Migration):
    dependencies = [("keys", "0011_remembered_answers"), ("webhooks", "0010_attempts_have_requests")]

    operations = [
        migrations.AlterField(
            "webhook",
            "form",
            models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="webhooks",
                to="forms_app.form",
            ),
        ),
        migrations.AddField(
            "webhook",
            "all_forms_of",
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
            "webhook",
            models.UniqueConstraint(fields=("all_forms_of", "url"), name="webhook_url_once_for_all_forms"),
        ),
        migrations.AddConstraint(
            "webhook",
            models.CheckConstraint(
                condition=models.Q(
                    models.Q(("all_forms_of", None), ("form__isnull", False)),
                    models.Q(("all_forms_of__isnull", False), ("form", None)),
                    _connector="OR",
                ),
                name="webhook_serves_one_form_or_all",
            ),
        ),
        # The last one, so that it is the first on the way back.
        migrations.RunPython(migrations.RunPython.noop, refuse_those_of_all_forms),
    ]
