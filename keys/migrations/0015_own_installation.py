import logging

from django.conf import settings
from django.db import migrations, models


def say_that_sign_up_is_closed(apps, schema_editor):
    """Tell the operator of an existing service, once: the default is another one from this release on."""
    if settings.SIGN_UP != "open" and apps.get_model("keys", "User").objects.exists():
        logging.getLogger("keys").warning(
            "nobody signs up any more without an invitation (SIGN_UP=%s); SIGN_UP=open opens it again. "
            "New organizations are on the plan %s (DEFAULT_PLAN); those that exist keep theirs.",
            settings.SIGN_UP,
            settings.DEFAULT_PLAN,
        )


class Migration(migrations.Migration):
    dependencies = [
        ("keys", "0014_user_language"),
    ]

    operations = [
        migrations.AddField(
            model_name="invitation",
            name="makes_account",
            field=models.BooleanField(
                db_default=False, default=False, help_text="By an operator: also where SIGN_UP is closed."
            ),
        ),
        migrations.RunPython(say_that_sign_up_is_closed, migrations.RunPython.noop),
    ]
