"""The HTML form for a form's reply and confirmation. The API's serializer validates; errors are shown at the inputs."""

import dataclasses
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy

from config.api.serializers import validate
from dashboard.frame.changes.stamped import StampedForm
from forms_app.document.bodies import FormChanges
from forms_app.models import MAX_SENDER_NAME
from forms_app.texts.replies import MAX_SUBJECT, MAX_TEXT, Reply


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

    sender_name = forms.CharField(
        required=False,
        max_length=MAX_SENDER_NAME,
        label=gettext_lazy("Sender name"),
        help_text=gettext_lazy("The mails are from this name “via” that of the service. Empty: from the service."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    names = {
        "senderName": "sender_name",
        "confirmation": "confirmation",
        "reply": "enabled",
        "reply.subject": "subject",
        "reply.text": "text",
    }

    def stored(self) -> dict[str, Any]:
        own = {"confirmation": self.form.confirmation, "sender_name": self.form.sender_name}
        return {**own, **dataclasses.asdict(Reply.of(self.form.reply))}

    def values(self) -> dict[str, Any]:
        """Return the changes for `change_form`. Raises ValidationFailed."""
        given = self.cleaned_data
        reply: dict[str, Any] | None = {name: given[name] for name in ("enabled", "subject", "text")}
        if not (given["enabled"] or given["subject"].strip() or given["text"].strip()):
            reply = None
        own = {"senderName": given["sender_name"], "confirmation": given["confirmation"]}
        return validate(FormChanges(data={"reply": reply, **own}))

    def reply(self) -> Reply:
        """Return the reply as it was typed, for the preview."""
        given = self.cleaned_data
        return Reply(given.get("enabled", False), given.get("subject", ""), given.get("text", ""))
