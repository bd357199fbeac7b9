"""A publishable test key for every organization."""

from django.db import migrations

from keys import tokens

NAME = "For web pages, test data"
BATCH = 500  # rows


def make_publishable_test_keys(apps, schema_editor):
    organization_model, key_model = apps.get_model("keys", "Organization"), apps.get_model("keys", "AccessKey")
    made = []
    for pk in organization_model.objects.order_by("pk").values_list("pk", flat=True):
        token = tokens.make_token(publishable=True, test=True)
        key = key_model(organization_id=pk, name=NAME, kind="publishable", mode="test", publishable_token=token)
        key.digest, key.hint = tokens.digest(token), tokens.hint(token)
        made.append(key)
    key_model.objects.bulk_create(made, batch_size=BATCH)


class Migration(migrations.Migration):
    # Apart from the column: these rows keep nobody waiting, who reads keys meanwhile.
    dependencies = [("keys", "0020_test_keys")]

    operations = [migrations.RunPython(make_publishable_test_keys, migrations.RunPython.noop)]
