"""Keys of test mode."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("keys", "0019_device_logins")]

    operations = [
        migrations.AddField(
            "accesskey",
            "mode",
            models.CharField(
                choices=[("live", "Live"), ("test", "Test")], db_default="live", default="live", max_length=4
            ),
        ),
        migrations.AddConstraint(
            "accesskey",
            models.CheckConstraint(
                condition=models.Q(("mode", "live"), models.Q(("admin", False), ("mode", "test")), _connector="OR"),
                name="test_key_is_not_administrative",
            ),
        ),
    ]
