"""Documents of forms: their defaults, and requests that read, try and put them."""

from typing import Any

from forms_app.models import Form
from keys.models import AuditEvent
from tests.services.client import Answer, Client
from tests.support.tenants import Tenant

SECRET = "0x4AAA-the-secret-of-ada"
DEFAULTS: dict[str, Any] = {
    "key": "orders",
    "name": "Orders",
    "status": "draft",
    "address": None,
    "fields": [],
    "allowedOrigins": [],
    "redirectUrl": "",
    "successMessage": "",
    "description": "",
    "buttonLabel": "",
    "returnUrl": "",
    "language": "en",
    "retentionDays": None,
    "spam": {
        "minSeconds": 2,
        "maxLinks": None,
        "blockedWords": [],
        "proofOfWork": False,
        "captcha": None,
        "siteKey": "",
        "secret": None,
    },
    "reply": None,
    "confirmation": False,
    "recipients": [],
    "senderName": "",
    "replyTo": None,
    "accent": None,
    "poweredBy": True,
}


def path(key: str, *, dry: bool = False) -> str:
    return f"/api/forms/by-key/{key}" + ("?dryRun=true" if dry else "")


def put(api: Client, tenant: Tenant, document: Any, *, key: str = "orders", by: str = "", **headers: str) -> Answer:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return api.request("PUT", path(key), by or tenant.key, json=document, headers=sent)


def try_out(api: Client, tenant: Tenant, document: Any, *, by: str = "", **headers: str) -> Answer:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return api.request("PUT", path("orders", dry=True), by or tenant.key, json=document, headers=sent)


def get(api: Client, tenant: Tenant, key: str = "orders", *, by: str = "", **headers: str) -> Answer:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return api.get(path(key), by or tenant.key, headers=sent)


def state_of(tenant: Tenant) -> list[Any]:
    """Return whatever a document could change."""
    forms = Form.objects.filter(organization=tenant.organization).order_by("pk")
    return [list(forms.values()), AuditEvent.objects.filter(organization_ref=tenant.organization.pk).count()]
