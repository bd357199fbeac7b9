"""The HTML form for the spam protection of a form."""

import dataclasses
from typing import Any

from django import forms
from django.utils.translation import gettext, gettext_lazy

from dashboard.frame.changes.stamped import StampedForm
from dashboard.html_forms.forms import lines
from forms_app.spam_protection import MAX_WORDS, Captcha, SpamProtection

MAX_WORD = 100  # characters
MAX_SECONDS = 60


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
        max_value=1000,
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
    captcha_site_key = forms.CharField(max_length=200, required=False, label=gettext_lazy("Captcha site key"))
    captcha_secret = forms.CharField(
        max_length=200,
        required=False,
        label=gettext_lazy("Captcha secret"),
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text=gettext_lazy("Leave empty to keep the stored one."),
    )

    def stored(self) -> dict[str, Any]:
        values = dataclasses.asdict(SpamProtection.of(self.form.spam_protection))
        return {**values, "blocked_words": "\n".join(values["blocked_words"]), "captcha_secret": ""}

    def clean_blocked_words(self) -> tuple[str, ...]:
        words = tuple(dict.fromkeys(lines(self.cleaned_data["blocked_words"])))
        if len(words) > MAX_WORDS:
            raise forms.ValidationError(gettext("Enter at most %(most)s words or phrases.") % {"most": MAX_WORDS})
        if any(len(word) > MAX_WORD for word in words):
            raise forms.ValidationError(
                gettext("A word or phrase has at most %(most)s characters.") % {"most": MAX_WORD}
            )
        return words

    def clean(self) -> dict[str, Any]:
        """Require both keys of a captcha: without them nobody could pass it."""
        values = super().clean() or {}
        if values.get("captcha"):
            values["captcha_secret"] = (
                values.get("captcha_secret") or SpamProtection.of(self.form.spam_protection).captcha_secret
            )
            for name in ("captcha_site_key", "captcha_secret"):
                if not values.get(name):
                    self.add_error(name, gettext("A captcha needs its site key and its secret."))
        return values

    def values(self) -> dict[str, Any]:
        return {"spam_protection": SpamProtection(**self.cleaned_data).stored()}
