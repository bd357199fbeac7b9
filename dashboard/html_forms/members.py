"""HTML forms for users and organizations."""

import uuid
from typing import Any

from django import forms
from django.utils.translation import gettext, gettext_lazy

from dashboard.access import Member
from forms_app.models import Form
from forms_app.sign_up import MAX_NAME
from keys.members import may_give
from keys.models import Organization, Role

ROLE_DESCRIPTIONS = {
    Role.VIEWER: gettext_lazy("Viewer: reads and exports submissions, changes nothing"),
    Role.MEMBER: gettext_lazy("Member: reads submissions, edits forms"),
    Role.ADMIN: gettext_lazy("Admin: also manages keys, webhooks, members, settings"),
    Role.OWNER: gettext_lazy("Owner: everything, including erasing"),
}


def roles_for(inviter: Member) -> list[tuple[str, str]]:
    """Return the roles that this user can give to others."""
    return [(role.value, str(text)) for role, text in ROLE_DESCRIPTIONS.items() if may_give(inviter.role, role)]


ALL, CHOSEN = "all", "chosen"
CHECK = {"class": "form-check-input"}


class SeenFormsForm(forms.Form):
    """Every form of an organization, or chosen ones."""

    seen = forms.ChoiceField(
        label=gettext_lazy("Sees"),
        choices=[(ALL, gettext_lazy("Every form, later ones too")), (CHOSEN, gettext_lazy("Only these forms"))],
        initial=ALL,
        widget=forms.RadioSelect(attrs=CHECK),
    )

    def __init__(self, *args: Any, organization: Organization, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        own = Form.objects.filter(organization=organization).order_by("-is_default", "status", "name", "id")
        self.fields["forms"] = forms.MultipleChoiceField(
            label=gettext("Forms"),
            required=False,
            choices=[(str(pk), name) for pk, name in own.values_list("pk", "name")],
            widget=forms.CheckboxSelectMultiple(attrs=CHECK),
        )

    def clean(self) -> dict[str, Any]:
        if self.cleaned_data.get("seen") == CHOSEN and self.cleaned_data.get("forms") == []:
            self.add_error("forms", gettext("Choose at least one form."))
        return self.cleaned_data

    def form_ids(self) -> list[uuid.UUID] | None:
        """Return the chosen forms of a valid form, None for all."""
        return list(map(uuid.UUID, self.cleaned_data["forms"])) if self.cleaned_data["seen"] == CHOSEN else None


class InviteForm(SeenFormsForm):
    email = forms.EmailField(
        max_length=254,
        label=gettext_lazy("Email"),
        widget=forms.EmailInput(attrs={"autocomplete": "off", "placeholder": "ada@example.com"}),
    )

    def __init__(self, *args: Any, inviter: Member, **kwargs: Any) -> None:
        super().__init__(*args, organization=inviter.organization, **kwargs)
        self.fields["role"] = forms.ChoiceField(label=gettext("Role"), choices=roles_for(inviter), initial=Role.MEMBER)
        self.fields["seen"].required = False  # all, unless the page asks for less
        self.order_fields(["email", "role", "seen", "forms"])


class OrganizationForm(forms.Form):
    name = forms.CharField(
        max_length=MAX_NAME, label=gettext_lazy("Name"), widget=forms.TextInput(attrs={"autocomplete": "organization"})
    )


class DeleteAccountForm(forms.Form):
    """Asks for the email address, and a tick for every organization that is erased with the account."""

    typed = forms.CharField(
        label=gettext_lazy("Type your email address"), widget=forms.TextInput(attrs={"autocomplete": "off"})
    )

    def __init__(self, *args: Any, email: str, alone: list[Organization], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.email = email
        if alone:
            self.fields["organizations"] = forms.MultipleChoiceField(
                label=gettext(
                    "You are the only member of these organizations. They are erased with all forms and submissions"
                ),
                choices=[(one.slug, one.name) for one in alone],
                widget=forms.CheckboxSelectMultiple(attrs={"class": "form-check-input"}),
                error_messages={"required": gettext("Tick them, or make another user their owner first.")},
            )
            self.order_fields(["organizations", "typed"])

    def clean_typed(self) -> str:
        if self.cleaned_data["typed"].strip().lower() != self.email.lower():
            raise forms.ValidationError(gettext("That is not your address. Nothing was deleted."))
        return str(self.cleaned_data["typed"])


class TypedNameForm(forms.Form):
    """Asks for a name or address, so that nobody deletes anything by mistake."""

    typed = forms.CharField(required=False, widget=forms.TextInput(attrs={"autocomplete": "off"}))

    def __init__(self, *args: Any, expected: str, label: str, refusal: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.expected, self.refusal = expected, refusal
        self.fields["typed"].label = label

    def clean_typed(self) -> str:
        if self.cleaned_data["typed"].strip() != self.expected.strip():
            raise forms.ValidationError(self.refusal)
        return str(self.cleaned_data["typed"])
