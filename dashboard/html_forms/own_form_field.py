"""The choice of one of an organization's forms, for filters and for new webhooks."""

from typing import Any

from django import forms
from django.utils.translation import gettext

from forms_app.models import Form
from keys.models import Organization
from webhooks.models import ALL_FORMS

EVERY_FORM = "all"  # the value of "All forms" where a choice is required


class OwnFormField(forms.TypedChoiceField):
    """Offers "All forms", which cleans to None, and `count` forms by public id, which clean to the Form."""

    def __init__(self, offered: dict[str, Form], **kwargs: Any) -> None:
        self.count = len(offered)
        everything = EVERY_FORM if kwargs.get("required", True) else ""
        choices = [(everything, gettext(ALL_FORMS)), *((public_id, form.name) for public_id, form in offered.items())]
        super().__init__(label=gettext("Form"), choices=choices, coerce=offered.get, empty_value=None, **kwargs)

    @classmethod
    def of_all(cls, organization: Organization, **kwargs: Any) -> "OwnFormField":
        """Return an optional field with every form: archived forms keep their submissions, so they can be chosen."""
        own = Form.objects.filter(organization=organization).order_by("-is_default", "status", "name", "id")
        return cls({form.public_id: form for form in own}, required=False, **kwargs)

    @classmethod
    def of_active(cls, organization: Organization, **kwargs: Any) -> "OwnFormField":
        """Return a required field with the forms that are not archived; all of them are a choice like the others."""
        own = Form.objects.filter(organization=organization).exclude(status=Form.Status.ARCHIVED)
        return cls({form.public_id: form for form in own.order_by("-is_default", "name", "id")}, **kwargs)
