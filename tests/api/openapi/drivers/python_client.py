"""Drives the client that `openapi-python-client` has made: `python_client.py BASE_URL KEY WEBHOOK_URL`."""

import json
import sys

from fieldpost_api_client import AuthenticatedClient
from fieldpost_api_client.api.access_keys import create_key
from fieldpost_api_client.api.forms import create_form, publish_form
from fieldpost_api_client.api.submissions import export_submissions, list_submissions, submit_form
from fieldpost_api_client.api.webhooks import create_webhook
from fieldpost_api_client.models import (
    Error,
    EventType,
    FieldType,
    NewAccessKey,
    NewForm,
    NewFormField,
    NewWebhook,
    Permission,
    SubmissionValues,
)

from tests.api.openapi.drivers.follow import follow

base_url, key, webhook_url = sys.argv[1:]
client = AuthenticatedClient(base_url, key, prefix="", auth_header_name="x-access-key")

fields = [
    NewFormField(label="Name", type_=FieldType.TEXT, required=True),
    NewFormField(label="Color", type_=FieldType.SELECT, options=["red", "blue"]),
]
form = create_form.sync(client=client, body=NewForm(name="Contact", fields=fields)).data
published = publish_form.sync(form.id, client=client).data

values = SubmissionValues.from_dict({"name": "Ada", "color": "red", "age": 36})
receipt = submit_form.sync(client=client, body=values, form_id=form.id, idempotency_key="once").data
refused = submit_form.sync(client=client, body=SubmissionValues.from_dict({"name": ""}), form_id=form.id)
assert isinstance(refused, Error)

more = submit_form.sync(client=client, body=SubmissionValues.from_dict({"name": "Bob"}), form_id=form.id).data
followed = follow(lambda cursor: list_submissions.sync(client=client, form_id=form.id, cursor=cursor, limit=1), 2)

listed = list_submissions.sync(client=client, form_id=form.id).data
exported = export_submissions.sync(client=client, form_id=form.id)
webhook = create_webhook.sync(
    client=client, body=NewWebhook(form_id=form.id, url=webhook_url, events=[EventType.SUBMISSION_CREATED])
).data
issued = create_key.sync(client=client, body=NewAccessKey(name="Reader", permissions=[Permission.FORMSREAD])).data

seen = {
    "form": form.id,
    "fields": [[field.name, field.type_.value, field.required] for field in published.fields],
    "status": published.status.value,
    "submissions": [receipt.id, more.id],
    "followed": followed,
    "refused": [refused.error, refused.details[0].field],
    "listed": [[row.id, row.data.to_dict()] for row in listed],
    "exported": exported,
    "webhook": [webhook.id, webhook.url, [event.value for event in webhook.events]],
    "secret": webhook.secret,
    "key": issued.key,
    "permissions": [permission.value for permission in issued.permissions],
}
print(json.dumps(seen))
