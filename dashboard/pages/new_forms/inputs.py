"""The HTML forms that start a form: a starter with a name, and pasted HTML."""

from typing import Any

from django import forms
from django.conf import settings
from django.utils.translation import gettext, gettext_lazy

from config.api.serializers import validate
from dashboard.pages.new_forms.pasted_html import MAX_BYTES
from dashboard.pages.new_forms.starter_forms import STARTER_FORMS
from forms_app.actions import MAX_FORM_NAME
from forms_app.document.bodies import NewForm


class NewFormForm(forms.Form):
    """The name of a new form, and its starter form."""

    name = forms.CharField(
        required=False,
        max_length=MAX_FORM_NAME,
        label=gettext_lazy("Name"),
        help_text=gettext_lazy("Visitors see it on the form's page. Empty: the name of what you start with."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    start = forms.ChoiceField(
        choices=[(key, one.label) for key, one in STARTER_FORMS.items()],
        error_messages={"required": gettext_lazy("Choose what to start with.")},
    )

    def values(self) -> dict[str, Any]:
        """Return the arguments of `create_form`. Raises ValidationFailed."""
        starter = STARTER_FORMS[self.cleaned_data["start"]]
        name = self.cleaned_data["name"] or str(starter.name)
        return validate(NewForm(data={"name": name, "fields": starter.fields}))


class PastedHtmlForm(forms.Form):
    """The HTML of a page or of a part of one."""

    html = forms.CharField(
        label=gettext_lazy("HTML of your form"),
        help_text=gettext_lazy(
            "From <form> to </form>, or the whole page. Scripts and styles are ignored, and nothing is loaded."
        ),
        strip=False,
        widget=forms.Textarea(
            attrs={"rows": 14, "spellcheck": "false", "autocomplete": "off", "class": "code", "wrap": "off"}
        ),
    )

    def clean_html(self) -> str:
        """Refuse more than the reader takes."""
        html = str(self.cleaned_data["html"])
        if len(html.encode("utf-8", "replace")) > MAX_BYTES:
            refusal = gettext("At most %(size)s kB. Paste only the part with the form.")
            raise forms.ValidationError(refusal % {"size": MAX_BYTES // 1000})
        return html


class NewFromHtmlForm(PastedHtmlForm):
    """The same with a name for the new form."""

    name = forms.CharField(
        required=False,
        max_length=MAX_FORM_NAME,
        label=gettext_lazy("Name"),
        help_text=gettext_lazy("Visitors see it on the form's page. Empty: the heading in the HTML."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    field_order = ["name", "html"]


class DocumentForm(forms.Form):
    """The document of a form, as a file or as text."""

    file = forms.FileField(
        required=False,
        allow_empty_file=True,
        label=gettext_lazy("File"),
        help_text=gettext_lazy("The JSON of “Download document”, of this or of another organization."),
        widget=forms.FileInput(attrs={"accept": "application/json,.json"}),
    )
    document = forms.CharField(
        required=False,
        label=gettext_lazy("Document"),
        help_text=gettext_lazy("The text of the file. You can paste and change it here."),
        strip=False,
        widget=forms.Textarea(
            attrs={"rows": 14, "spellcheck": "false", "autocomplete": "off", "class": "code", "wrap": "off"}
        ),
    )

    def clean(self) -> dict[str, Any]:
        """Take the text of the file, if one is sent. Refuse neither of them, and what the API would refuse."""
        values = super().clean() or {}
        file = values.get("file")
        try:
            text = file.read().decode("utf-8-sig") if file else str(values.get("document", ""))
        except UnicodeDecodeError:
            raise forms.ValidationError(gettext("The file is not UTF-8 text.")) from None
        if not text.strip():
            raise forms.ValidationError(gettext("Choose a file, or paste a document."))
        if len(text.encode("utf-8", "replace")) > settings.MAX_BODY_BYTES:
            raise forms.ValidationError(gettext("A document has at most 256 KiB."))
        return {"document": text}
