"""How Django's forms look everywhere: label, control, help and errors, tied together for screen readers."""

from django.forms.renderers import TemplatesSetting


class FormRenderer(TemplatesSetting):
    """Takes our templates for whole forms and single fields. https://docs.djangoproject.com/en/5.2/ref/forms/renderers/"""

    form_template_name = "dashboard/parts/form_fields.html"
    field_template_name = "dashboard/parts/field.html"
