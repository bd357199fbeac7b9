"""The HTML form for the spam protection of a form."""

import dataclasses
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy

from config.api.serializers import validate
from dashboard.frame.changes.stamped import StampedForm
from dashboard.html_forms.forms import lines
from forms_app.document.bodies import FormChanges
from forms_app.document.spam import MAX_CAPTCHA_KEY, MAX_LINKS, MAX_SECONDS
from forms_app.spam_protection import Captcha, SpamProtection


class SpamProtectionForm(StampedForm):
    minimum_seconds = forms.IntegerField(
        min_value=0,
        max_value=MAX_SECONDS,
        label=gettext_lazy("Minimum seconds on the hosted page"),
        widget=forms.NumberInput(attrs={"class": "short"}),
        help_text=gettext_lazy(
            "A visitor who sends faster is asked to send again, and a bot is stopped. 0 turns the check off."
        ),
    )
    max_links = forms.IntegerField(
        min_value=0,
        max_value=MAX_LINKS,
        required=False,
        label=gettext_lazy("Maximum links"),
        help_text=gettext_lazy("Empty: any number of links."),
        widget=forms.NumberInput(attrs={"class": "short"}),
    )
    blocked_words = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        label=gettext_lazy("Blocked words and phrases"),
        help_text=gettext_lazy("One per line. Upper and lower case are the same."),
    )
    proof_of_work = forms.BooleanField(
        required=False,
        label=gettext_lazy("Proof of work"),
        help_text=gettext_lazy(
            "The visitor's browser computes for a moment before it sends. Plain HTML forms without "
            "JavaScript stop working."
        ),
    )
    captcha = forms.ChoiceField(
        choices=Captcha.choices,
        required=False,
        label=gettext_lazy("Captcha"),
        help_text=gettext_lazy("Loads code of that company into the page."),
    )
    captcha_site_key = forms.CharField(
        max_length=MAX_CAPTCHA_KEY, required=False, label=gettext_lazy("Captcha site key")
    )
    captcha_secret = forms.CharField(
        max_length=MAX_CAPTCHA_KEY,
        required=False,
        label=gettext_lazy("Captcha secret"),
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text=gettext_lazy("Leave empty to keep the stored one."),
    )

    names = {
        "spam.minSeconds": "minimum_seconds",
        "spam.maxLinks": "max_links",
        "spam.blockedWords": "blocked_words",
        "spam.proofOfWork": "proof_of_work",
        "spam.captcha": "captcha",
        "spam.siteKey": "captcha_site_key",
        "spam.secret": "captcha_secret",
    }

    def stored(self) -> dict[str, Any]:
        values = dataclasses.asdict(SpamProtection.of(self.form.spam_protection))
        return {**values, "blocked_words": "\n".join(values["blocked_words"]), "captcha_secret": ""}

    def values(self) -> dict[str, Any]:
        """Return the changes for `change_form`. Raises ValidationFailed."""
        given: dict[str, Any] = {
            member.removeprefix("spam."): self.cleaned_data[name] for member, name in self.names.items()
        }
        given |= {"blockedWords": lines(given["blockedWords"]), "captcha": given["captcha"] or None}
        if not given["secret"]:
            del given["secret"]  # the stored one stays
        return validate(FormChanges(data={"spam": given}))
