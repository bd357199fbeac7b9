"""Change the brand of an organization, with its audit entries."""

from django.db import transaction

from keys.audit import Actor, record_event
from keys.audit.changes import changes, values_of
from keys.branding.colors import check_accent
from keys.branding.logos import read_logo
from keys.models import Logo, Organization

COLUMNS = ("accent", "logo_name")


def set_accent(organization: Organization, text: str, *, by: Actor) -> None:
    """Set the accent; an empty text restores the default one. Raises UnfitColor."""
    _save(organization, accent=check_accent(text) if text.strip() else "", by=by)


def set_logo(organization: Organization, data: bytes, *, by: Actor) -> None:
    """Set the logo to a file's picture. Raises UnfitLogo."""
    image = read_logo(data)  # outside the transaction: it takes a while
    with transaction.atomic():
        Logo.objects.update_or_create(organization=organization, defaults={"name": image.name, "png": image.png})
        _save(organization, logo_name=image.name, by=by)


def remove_logo(organization: Organization, *, by: Actor) -> None:
    with transaction.atomic():
        Logo.objects.filter(organization=organization).delete()
        _save(organization, logo_name="", by=by)


def _save(organization: Organization, *, by: Actor, **values: str) -> None:
    with transaction.atomic():
        before = values_of(Organization.objects.select_for_update().get(pk=organization.pk), *COLUMNS)
        for name, value in values.items():
            setattr(organization, name, value)
        organization.save(update_fields=list(values))
        found = changes(before, {**before, **values})
        if found:
            action = "organization.brand_changed"
            record_event(organization=organization, by=by, action=action, subject=organization.name, changes=found)
