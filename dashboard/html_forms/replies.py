"""The HTML form for a form's reply and confirmation. The API's serializer validates; errors are shown at the inputs."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy

from config.api.errors import ValidationFailed
from config.api.serializers import validate
from dashboard.changes.stamped import StampedForm
from forms_app.models import Form
from forms_app.serializers import FormChanges
from forms_app.texts.replies import MAX_SUBJECT, MAX_TEXT, Reply

INPUTS = {"reply.enabled": "enabled", "reply.subject": "subject", "reply.text": "text", "reply": "enabled"}


class RepliesForm(StampedForm):
    """Whether submitters confirm their address, and the mail that answers them."""

    confirmation = forms.BooleanField(
        required=False,
        label=gettext_lazy("Ask submitters to confirm their address"),
        help_text=gettext_lazy(
            "They get a mail with a link. Until they press the button behind it, the submission is held: it is in no "
            "list or export and is not delivered. After 14 days it is deleted."
        ),
    )
    enabled = forms.BooleanField(required=False, label=gettext_lazy("Answer each submission by mail"))
    subject = forms.CharField(required=False, max_length=MAX_SUBJECT, label=gettext_lazy("Subject"))
    text = forms.CharField(
        required=False,
        max_length=MAX_TEXT,
        label=gettext_lazy("Text"),
        widget=forms.Textarea(attrs={"rows": 8}),
        help_text=gettext_lazy("Plain text. Web addresses in it become links."),
    )

    @classmethod
    def showing(cls, form: Form) -> "RepliesForm":
        """Return the HTML form with the stored settings."""
        reply = Reply.of(form.reply)
        return cls(
            initial={
                **cls.stamp(form),
                "confirmation": form.confirmation,
                "enabled": reply.enabled,
                "subject": reply.subject,
                "text": reply.text,
            }
        )

    def values(self) -> dict[str, Any]:
        """Return the changes for `change_form`. Raises ValidationFailed."""
        given = self.cleaned_data
        reply: dict[str, Any] | None = {name: given[name] for name in ("enabled", "subject", "text")}
        if not (given["enabled"] or given["subject"].strip() or given["text"].strip()):
            reply = None
        return validate(FormChanges(data={"reply": reply, "confirmation": given["confirmation"]}))

    def reply(self) -> Reply:
        """Return the reply as it was typed, for the preview."""
        given = self.cleaned_data
        return Reply(given.get("enabled", False), given.get("subject", ""), given.get("text", ""))

    def show(self, failure: ValidationFailed) -> None:
        """Add each error to its input."""
        for detail in failure.details:
            name = INPUTS.get(detail.field, detail.field)
            self.add_error(name if name in self.fields else None, detail.message)
