"""Create many keys of one organization: runs inside `manage.py shell`, and prints one line of JSON."""

import json

from config.base.ids import Prefix, decode_id, encode_id
from keys import tokens
from keys.access_keys import ALL_PERMISSIONS
from keys.models import AccessKey, Organization
from tests.faults.arrangement import arrange


def main(count: int) -> None:
    """Create a form, an admin key, and so many keys: `{admin, form, form_pk, keys: [[id, token], …]}`."""
    made = arrange([[]], [])
    organization = Organization.objects.get(slug=made["slug"])
    keys = [AccessKey(organization=organization, name="Raced", permissions=list(ALL_PERMISSIONS)) for _ in range(count)]
    shown = []
    for key in keys:
        token = tokens.make_token(publishable=False)
        key.set_token(token)
        shown.append((encode_id(Prefix.ACCESS_KEY, key.pk), token))
    AccessKey.objects.bulk_create(keys, batch_size=1000)
    (form,) = made["forms"]
    print(json.dumps({"admin": made["key"], "form": form, "form_pk": decode_id(Prefix.FORM, form).hex, "keys": shown}))
