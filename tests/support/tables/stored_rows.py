"""An organization's rows, to show that a refused request changed nothing."""

from typing import Any

from forms_app.models import Form
from keys.models import AccessKey
from submissions.models import IdempotencyKey, Submission
from tests.support.tenants import Tenant
from webhooks.events import NOTICE
from webhooks.models import Delivery, Receiver

# Only what a request can change: what delivery writes by itself, later, is left out.
QUERIES: dict[str, tuple[Any, str, tuple[str, ...]]] = {
    "forms": (Form, "organization", ()),
    "keys": (AccessKey, "organization", ("name", "kind", "admin", "permissions", "expires_on", "digest", "revoked_at")),
    "submissions": (Submission, "organization", ("form_id", "data", "controls", "spam", "spam_reasons", "held")),
    "idempotency keys": (IdempotencyKey, "form__organization", ()),
    "receivers": (
        Receiver,
        "organization",
        ("form_id", "kind", "url", "events", "name", "config", "status", "secret", "previous_secret"),
    ),
    "deliveries": (Delivery, "organization", ("target", "event")),
}


def stored_rows(tenant: Tenant) -> dict[str, list[dict[str, Any]]]:
    """Return every row of the organization, in order."""
    rows = {
        name: list(model.objects.filter(**{path: tenant.organization}).order_by("pk").values("pk", *columns))
        if columns
        else list(model.objects.filter(**{path: tenant.organization}).order_by("pk").values())
        for name, (model, path, columns) in QUERIES.items()
    }
    # Notices, such as that of a new webhook, are queued in the background.
    rows["deliveries"] = [row for row in rows["deliveries"] if row["event"] != NOTICE.name]
    return rows
