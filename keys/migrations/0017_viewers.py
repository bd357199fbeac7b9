"""The role of people who only read."""

from django.db import migrations, models

ROLES = [("owner", "Owner"), ("admin", "Admin"), ("member", "Member"), ("viewer", "Viewer")]


def role() -> models.CharField:
    return models.CharField(choices=ROLES, db_default="member", default="member", max_length=10)


def roles_are_known(model: str) -> list[migrations.operations.base.Operation]:
    name = f"{model}_role_is_known"
    known = models.Q(("role__in", ["owner", "admin", "member", "viewer"]))
    return [
        migrations.AlterField(model, "role", role()),
        migrations.RemoveConstraint(model, name),
        migrations.AddConstraint(model, models.CheckConstraint(condition=known, name=name)),
    ]


class Migration(migrations.Migration):
    dependencies = [("keys", "0016_identities")]

    operations = [*roles_are_known("membership"), *roles_are_known("invitation")]
