"""Every form has a key that was made from its name, instead of the random one of the database."""

from collections import defaultdict
from itertools import chain, count

from django.db import migrations
from django.utils.text import slugify

BATCH = 500  # rows


def name_forms(apps, schema_editor):
    form_model = apps.get_model("forms_app", "Form")
    taken, numbers, changed = set(), defaultdict(lambda: count(2)), []
    forms = form_model.objects.only("name", "status", "is_default", "organization_id").order_by("organization_id", "id")
    # Archived forms last: they do not count.
    for form in sorted(forms, key=lambda form: (form.status == "archived", not form.is_default)):
        slug = "inbox" if form.is_default else slugify(form.name).replace("_", "-")[:56].strip("-")
        numbered = (f"{slug or 'form'}-{number}" for number in numbers[form.organization_id, slug])
        candidates = chain([slug] if slug else [], numbered)
        form.key = next(key for key in candidates if (form.organization_id, key) not in taken)
        taken.add((form.organization_id, form.key))
        changed.append(form)
    form_model.objects.bulk_update(changed, ["key"], batch_size=BATCH)


class Migration(migrations.Migration):
    # Apart from the columns: these updates keep nobody waiting, who reads forms meanwhile.
    dependencies = [("forms_app", "0013_addresses_and_faces")]

    operations = [migrations.RunPython(name_forms, migrations.RunPython.noop)]
