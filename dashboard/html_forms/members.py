"""HTML forms for users and organizations."""

from typing import Any

from django import forms
from django.utils.translation import gettext, gettext_lazy

from dashboard.access import Member
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


class InviteForm(forms.Form):
    email = forms.EmailField(
        max_length=254,
        label=gettext_lazy("Email"),
        widget=forms.EmailInput(attrs={"autocomplete": "off", "placeholder": "ada@example.com"}),
    )

    def __init__(self, *args: Any, inviter: Member, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["role"] = forms.ChoiceField(label=gettext("Role"), choices=roles_for(inviter), initial=Role.MEMBER)


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
