"""Rendering of HTML forms: label, control, help and errors, connected for screen readers."""

from typing import Any

from django.forms.renderers import TemplatesSetting
from django.http import HttpRequest


class FormRenderer(TemplatesSetting):
    """Uses our templates for whole forms and single fields. https://docs.djangoproject.com/en/5.2/ref/forms/renderers/"""

    form_template_name = "dashboard/parts/form_fields.html"
    field_template_name = "dashboard/parts/field.html"

    def render(self, template_name: str, context: dict[str, Any], request: HttpRequest | None = None) -> str:
        """Return HTML, without the placeholders of allauth's forms: they repeat the label."""
        form = context.get("form")
        if form and any(base.__module__.startswith("allauth.") for base in type(form).__mro__):
            for field in form.fields.values():
                field.widget.attrs.pop("placeholder", None)
        return str(super().render(template_name, context, request))
