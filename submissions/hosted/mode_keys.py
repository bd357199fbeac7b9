"""`?test=` with the publishable test key of the organization: the post is a test submission (docs/contract.md 12)."""

from django.conf import settings
from django.http import HttpRequest

from config.api.errors import InvalidAccessKey
from config.base.times import now
from forms_app.models import Form
from keys import tokens
from keys.authentication import USE_NOTED_EVERY, find_key
from submissions.receiving.key_and_form import SubmitKey

PARAMETER = "test"


def named_key(request: HttpRequest) -> str:
    """Return the key that the address names; "" without one: any other value is the page's own."""
    text = request.GET.get(PARAMETER, "")
    return text if text.startswith(f"{settings.ACCESS_KEY_PREFIX}_") else ""


def kept_in_address(request: HttpRequest) -> str:
    """Return what the address of the next post needs to have the same key."""
    token = named_key(request)
    return f"&{PARAMETER}={token}" if tokens.is_well_formed(token) else ""


def find_test_key(request: HttpRequest, form: Form) -> SubmitKey | None:
    """
    Return the key that the address names; None without one.

    Raises InvalidAccessKey for one that is not a usable publishable test key of the form's organization.
    """
    token = named_key(request)
    if not token:
        return None
    key = find_key(token)
    if key is None or not (key.is_test and key.is_publishable) or key.organization_id != form.organization_id:
        raise InvalidAccessKey
    is_recent = key.last_used_at is not None and now() - key.last_used_at < USE_NOTED_EVERY
    return SubmitKey(key.pk, is_publishable=True, was_used_recently=is_recent, was_in_page_recently=False)
