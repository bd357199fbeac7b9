from django.db import migrations, models

import config.api.times


def start_from_creation(apps, schema_editor):
    apps.get_model("keys", "AccessKey").objects.update(secret_made_at=models.F("created_at"))


class Migration(migrations.Migration):
    dependencies = [("keys", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="accesskey",
            name="secret_made_at",
            field=models.DateTimeField(
                default=config.api.times.now, editable=False, help_text="Creation, or the last regeneration."
            ),
        ),
        migrations.RunPython(start_from_creation, migrations.RunPython.noop),
    ]
