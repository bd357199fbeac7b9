"""HTML forms that know which version of a form they change, so that a save replaces nothing that nobody has seen."""

from typing import Any, Unpack

from django import forms
from django.http import QueryDict

from config.api.errors import ApiError, ValidationFailed
from config.base.times import format_time
from forms_app.actions import FormValues, StaleForm, change_form
from forms_app.models import Form


class StampedForm(forms.Form):
    """
    A part of a form's settings. Carries when the form was last saved; a refused page still says what it has seen.

    `names`: the input of each member of the API; others have their errors above all inputs.
    """

    seen = forms.CharField(required=False, widget=forms.HiddenInput)
    seen_version: str | None = None  # the version that the page has shown; None of a page without one
    status = 400  # of a page with errors
    names: dict[str, str] = {}

    def __init__(self, *args: Any, form: Form, **kwargs: Any) -> None:
        self.form = form
        super().__init__(*args, **{"initial": {**self.stored(), "seen": self._stamp()}, **kwargs})

    def stored(self) -> dict[str, Any]:
        """Return the stored values by their inputs."""
        return {name: getattr(self.form, name) for name in self.names.values()}

    def _stamp(self) -> str:
        return format_time(self.form.updated_at) or ""

    def clean(self) -> dict[str, Any]:
        """Set `seen_version`, which is no change of the form."""
        values = super().clean() or {}
        self.seen_version = values.pop("seen", "") or None
        return values

    def values(self) -> dict[str, Any]:
        """Return the changes for `change_form`. Raises ValidationFailed."""
        raise NotImplementedError

    def change(self, **further: Unpack[FormValues]) -> None:
        """Change the form as it was entered, and by `further`, in one save. Raises ApiError."""
        changes: Any = {**self.values(), **further}
        change_form(self.form, seen=self.seen_version, **changes)

    def save(self, **further: Unpack[FormValues]) -> bool:
        """Change the form and return whether that was right. If not, the errors are shown at the inputs."""
        try:
            self.change(**further)
        except ValidationFailed as failure:
            self.show(failure)
        except StaleForm as failure:
            self._refuse_stale(failure)
        except ApiError as error:
            self.add_error(None, error.message)
        else:
            return True
        return False

    def show(self, failure: ValidationFailed) -> None:
        """Add each error to its input, or to the top of the form."""
        for detail in failure.details:
            above = [member for member in self.names if f"{detail.field}.".startswith(f"{member}.")]
            self.add_error(self.names[max(above, key=len)] if above else None, detail.message)

    def _refuse_stale(self, failure: StaleForm) -> None:
        """Show that the form was saved meanwhile. Sent again, it replaces that version."""
        self.form.refresh_from_db(fields=["updated_at"])
        data = QueryDict(mutable=True)
        data.update(self.data)
        data["seen"] = self._stamp()
        self.data, self.status = data, failure.status
        self.add_error(None, failure.message)
