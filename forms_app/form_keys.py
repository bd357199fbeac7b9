"""The key of a form: its name for programs, which they keep in files (docs/contract.md 4.12)."""

from itertools import chain, count

from django.utils.text import slugify

from forms_app.models import MAX_KEY, Form
from keys.models import Organization

DEFAULT_FORM_KEY = "inbox"
NAMELESS = "form"  # where the alphabet of keys has no character of a name


def free_key(organization: Organization, name: str) -> str:
    """
    Return a key made from a form's name: `contact`, else the first free one of `contact-2`, `contact-3`; `form-2`.

    The caller has locked the organization, so that two callers do not get the same one.
    """
    slug = slugify(name).replace("_", "-")
    base = slug[: MAX_KEY - len("-1000000")].strip("-") or NAMELESS
    forms = Form.objects.filter(organization=organization).exclude(status=Form.Status.ARCHIVED)
    taken = set(forms.filter(key__startswith=base).values_list("key", flat=True))
    numbered = (f"{base}-{number}" for number in count(2))
    return next(key for key in chain([base] if slug else [], numbered) if key not in taken)
