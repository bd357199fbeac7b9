"""Drives the Python client that `openapi-generator` has made: `generator_client.py BASE_URL KEY WEBHOOK_URL`."""

import json
import sys

from openapi_client import (
    AccessKeysApi,
    ApiClient,
    Configuration,
    EventType,
    FieldType,
    FormsApi,
    NewAccessKey,
    NewForm,
    NewFormField,
    NewWebhook,
    Permission,
    SubmissionsApi,
    WebhooksApi,
)
from openapi_client.exceptions import BadRequestException

from tests.api.openapi.drivers.follow import follow

base_url, key, webhook_url = sys.argv[1:]
with ApiClient(Configuration(host=base_url, api_key={"accessKey": key})) as client:
    forms, submissions, webhooks, keys = (
        FormsApi(client),
        SubmissionsApi(client),
        WebhooksApi(client),
        AccessKeysApi(client),
    )

    fields = [
        NewFormField(label="Name", type=FieldType.TEXT, required=True),
        NewFormField(label="Color", type=FieldType.SELECT, options=["red", "blue"]),
    ]
    form = forms.create_form(NewForm(name="Contact", fields=fields)).data
    published = forms.publish_form(form.id).data

    receipt = submissions.submit_form(
        {"name": "Ada", "color": "red", "age": 36}, form_id=form.id, idempotency_key="once"
    ).data
    try:
        submissions.submit_form({"name": ""}, form_id=form.id)
    except BadRequestException as error:
        refused = error.data

    more = submissions.submit_form({"name": "Bob"}, form_id=form.id).data
    followed = follow(lambda cursor: submissions.list_submissions(form_id=form.id, cursor=cursor, limit=1), 2)

    listed = submissions.list_submissions(form_id=form.id).data
    exported = submissions.export_submissions(form_id=form.id)
    webhook = webhooks.create_webhook(
        NewWebhook(form_id=form.id, url=webhook_url, events=[EventType.SUBMISSION_DOT_CREATED])
    ).data
    issued = keys.create_key(NewAccessKey(name="Reader", permissions=[Permission.FORMS_COLON_READ])).data

seen = {
    "form": form.id,
    "fields": [[field.name, field.type.value, field.required] for field in published.fields],
    "status": published.status.value,
    "submissions": [receipt.id, more.id],
    "followed": followed,
    "refused": [refused.error, refused.details[0].var_field],
    "listed": [[row.id, row.data] for row in listed],
    "exported": exported,
    "webhook": [webhook.id, webhook.url, [event.value for event in webhook.events]],
    "secret": webhook.secret,
    "key": issued.key,
    "permissions": [permission.value for permission in issued.permissions],
}
print(json.dumps(seen))
