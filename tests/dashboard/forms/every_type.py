"""A form with every type of field, and a form as stored."""

from forms_app.field_kinds import KINDS
from forms_app.models import Form
from tests.support.tenants import Tenant, text_field

ALL_TYPES = [
    *(
        text_field(kind, type=kind, required=False)
        for kind, row in KINDS.items()
        if not row.takes_options and not row.takes_files
    ),
    text_field("size", type="Select", options=["S", "M"], required=True),
    text_field("terms", type="Checkbox", required=False),
    text_field("cv", type="File", required=False, accept=["image/*", ".psd"], maxFiles=3, maxBytes=5_000_000),
    text_field("topics", type="Checkbox", options=["It's new", "Offers"], required=False),
]


def form_of(tenant: Tenant, form_id: str) -> Form:
    return next(form for form in Form.objects.filter(organization=tenant.organization) if form.public_id == form_id)
