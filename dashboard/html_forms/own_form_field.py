"""The choice of one of an organization's forms, for filters and for new webhooks."""

from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext

from config.base.ids import Prefix, decode_id, encode_id
from forms_app.models import Form
from keys.models import Organization
from keys.seen_forms import SeenForms
from webhooks.models import ALL_FORMS

EVERY_FORM = "all"  # the value of "All forms" where a choice is required


class OwnFormField(forms.TypedChoiceField):
    """Offers "All forms", which cleans to None, and `count` forms by public id, which clean to the Form."""

    def __init__(self, offered: QuerySet[Form], **kwargs: Any) -> None:
        # Ids and names only: a form has up to 256 KiB of fields, and an organization thousands of forms.
        named = [(encode_id(Prefix.FORM, pk), name) for pk, name in offered.values_list("pk", "name")]
        self.count = len(named)
        everything = EVERY_FORM if kwargs.get("required", True) else ""

        def find(public_id: str) -> Form | None:
            if public_id == everything:
                return None
            try:
                return offered.get(pk=decode_id(Prefix.FORM, public_id))
            except Form.DoesNotExist:
                raise forms.ValidationError("") from None  # deleted meanwhile: the field says "invalid choice"

        choices = [(everything, gettext(ALL_FORMS)), *named]
        super().__init__(label=gettext("Form"), choices=choices, coerce=find, empty_value=None, **kwargs)

    @classmethod
    def of_all(cls, seen: SeenForms, **kwargs: Any) -> "OwnFormField":
        """Return an optional field with every form: archived forms keep their submissions, so they can be chosen."""
        own = seen.narrow(Form.objects.order_by("-is_default", "status", "name", "id"), "pk")
        return cls(own, required=False, **kwargs)

    @classmethod
    def of_active(cls, organization: Organization, **kwargs: Any) -> "OwnFormField":
        """Return a required field with the forms that are not archived; all of them are a choice like the others."""
        own = Form.objects.filter(organization=organization).exclude(status=Form.Status.ARCHIVED)
        return cls(own.order_by("-is_default", "name", "id"), **kwargs)
