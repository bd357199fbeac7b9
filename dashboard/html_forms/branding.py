"""HTML forms for the look of hosted pages: of one form, and of an organization."""

from typing import Any

from django import forms
from django.conf import settings
from django.utils.translation import gettext, gettext_lazy

from config.api.serializers import validate
from dashboard.frame.changes.stamped import StampedForm
from forms_app.document.bodies import FormChanges
from forms_app.models import MAX_BUTTON_LABEL, MAX_DESCRIPTION, MAX_RETURN_URL
from keys.branding.colors import UnfitColor, check_accent
from keys.branding.logos import UnfitLogo
from keys.plans import Plan

LONGEST = {"description": MAX_DESCRIPTION, "button_label": MAX_BUTTON_LABEL, "return_url": MAX_RETURN_URL}
ACCEPTED = "image/png,image/jpeg,image/webp,image/gif"


class PageForm(StampedForm):
    """The texts of a form's hosted page."""

    description = forms.CharField(
        required=False,
        label=gettext_lazy("Description"),
        max_length=LONGEST["description"],
        help_text=gettext_lazy("Shown above the fields. Line breaks are kept."),
        widget=forms.Textarea(attrs={"rows": 4}),
    )
    button_label = forms.CharField(
        required=False,
        label=gettext_lazy("Text of the button"),
        max_length=LONGEST["button_label"],
        help_text=gettext_lazy("A verb and its object, such as “Reserve a table”. Empty: “Send”."),
        widget=forms.TextInput(attrs={"placeholder": gettext_lazy("Send"), "autocomplete": "off"}),
    )
    return_url = forms.CharField(
        required=False,
        label=gettext_lazy("Link back from the thank-you page"),
        max_length=LONGEST["return_url"],
        help_text=gettext_lazy(
            "Empty: the page that the visitor came from, if it is one of the form's allowed origins."
        ),
        widget=forms.URLInput(attrs={"placeholder": "https://example.com"}),
    )
    language = forms.ChoiceField(
        label=gettext_lazy("Language of the page"),
        required=False,  # left out: it stays
        choices=settings.LANGUAGES,
        help_text=gettext_lazy("For the texts of ours on it, such as errors. Your own texts stay as you wrote them."),
    )
    accent = forms.CharField(
        required=False,
        max_length=20,
        label=gettext_lazy("Accent color"),
        help_text=gettext_lazy("Of the button, as six hexadecimal digits. Empty: the organization's."),
        widget=forms.TextInput(attrs={"placeholder": "#2563eb", "autocomplete": "off", "spellcheck": "false"}),
    )
    hides_service = forms.BooleanField(required=False, label=gettext_lazy("Leave out “Powered by Fieldpost”"))
    names = {
        "description": "description",
        "buttonLabel": "button_label",
        "returnUrl": "return_url",
        "language": "language",
        "accent": "accent",
        "poweredBy": "hides_service",
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.form.organization.plan == Plan.FREE:
            self.fields["hides_service"].disabled = True
            self.fields["hides_service"].help_text = gettext("On the Free plan, pages name the service.")

    def stored(self) -> dict[str, Any]:
        own = {name: getattr(self.form, name) for name in self.names.values() if name != "hides_service"}
        return {**own, "hides_service": not self.form.names_service}

    def clean_accent(self) -> str:
        """Return the color as it is stored. Refuses one that could hardly be seen."""
        try:
            return check_accent(self.cleaned_data["accent"]) if self.cleaned_data["accent"] else ""
        except UnfitColor as error:
            raise forms.ValidationError(str(error)) from None

    def values(self) -> dict[str, Any]:
        """Return the changes for `change_form`. Raises ValidationFailed."""
        given = {member: self.cleaned_data[name] for member, name in self.names.items()}
        given |= {"accent": given["accent"] or None, "poweredBy": not given["poweredBy"]}
        if not given["language"]:
            del given["language"]
        if self.fields["hides_service"].disabled:  # the setting of another plan stays
            del given["poweredBy"]
        return validate(FormChanges(data=given))


class AccentForm(forms.Form):
    accent = forms.CharField(
        required=False,
        max_length=20,
        label=gettext_lazy("Accent color"),
        help_text=gettext_lazy(
            "For the button of your pages and mails, as six hexadecimal digits. Empty: Fieldpost's green."
        ),
        widget=forms.TextInput(attrs={"placeholder": "#2563eb", "autocomplete": "off", "spellcheck": "false"}),
    )


class LogoForm(forms.Form):
    logo = forms.FileField(
        label=gettext_lazy("Logo"),
        required=False,  # a missing or empty file is refused with a better message
        allow_empty_file=True,
        help_text=gettext_lazy(
            "A PNG, JPEG, WebP or GIF picture, up to 1 MB. It is stored as a PNG of at most 480 by 160 pixels."
        ),
        widget=forms.FileInput(attrs={"accept": ACCEPTED}),
    )

    def content(self) -> bytes:
        """Return the bytes of the file. Raises UnfitLogo without one."""
        file = self.cleaned_data["logo"]
        if file is None:
            raise UnfitLogo(gettext("Choose a picture first."))
        return bytes(file.read())
