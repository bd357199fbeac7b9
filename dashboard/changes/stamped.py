"""HTML forms that know which version of a form they show, so that a save replaces nothing that nobody has seen."""

from typing import Any

from django import forms
from django.http import QueryDict

from config.times import format_time
from forms_app.actions import StaleForm
from forms_app.models import Form


class StampedForm(forms.Form):
    """Carries when the form that it changes was last saved. A page that was refused still says what it has seen."""

    seen = forms.CharField(required=False, widget=forms.HiddenInput)
    seen_version: str | None = None  # the version that the page has shown; None of a page without one
    status = 400  # of a page with errors

    @classmethod
    def stamp(cls, form: Form) -> dict[str, str]:
        """Return the initial value of `seen`."""
        return {"seen": format_time(form.updated_at) or ""}

    def clean(self) -> dict[str, Any]:
        """Set `seen_version`, which is no change of the form."""
        values = super().clean() or {}
        self.seen_version = values.pop("seen", "") or None
        return values

    def refuse_stale(self, form: Form, failure: StaleForm) -> None:
        """Show that the form was saved meanwhile. Sent again, it replaces that version."""
        form.refresh_from_db(fields=["updated_at"])
        data = QueryDict(mutable=True)
        data.update(self.data)
        data["seen"] = self.stamp(form)["seen"]
        self.data, self.status = data, failure.status
        self.add_error(None, failure.message)
