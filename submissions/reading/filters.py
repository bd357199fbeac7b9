"""The one set of filters of submissions: list, total, export and command read what `scope` returns."""

import uuid

import django_filters
from django.utils.translation import gettext_lazy, pgettext_lazy
from drf_spectacular.utils import extend_schema_field

from config.api.errors import Unauthorized
from config.api.filters import IdFilter, PeriodFilter
from config.api.find_owned import find_owned
from config.api.schema import NO_NUL
from config.base.ids import Prefix
from forms_app.models import Form
from submissions.models import Submission
from submissions.reading.listing import Holding, Scope

SPAM = {"false": False, "true": True, "all": None}  # False without the parameter; None: both
SPAM_CHOICES = [
    ("false", gettext_lazy("Not spam")),
    ("true", gettext_lazy("Spam")),
    ("all", pgettext_lazy("a filter", "Both")),
]
HELD = {"true": Holding.QUOTA, "false": Holding.NOT_HELD, "all": Holding.EVERY}
HELD_CHOICES = [
    ("true", gettext_lazy("Held for quota")),
    ("false", gettext_lazy("Not held")),
    ("all", pgettext_lazy("a filter", "All")),
]
MODES = {"true": True, "false": False}
MIN_QUERY = 3  # characters; fewer would match nearly everything and no index could help
MAX_QUERY = 200  # characters

SPAM_SCHEMA = {"type": "string", "enum": list(SPAM), "description": "Not spam (the default), spam, or both."}


HELD_SCHEMA = {
    "type": "string",
    "enum": list(HELD),
    "description": "Held for quota, not held, or all. Without it all but those that are held for confirmation.",
}
TEST_SCHEMA = {
    "type": "string",
    "enum": list(MODES),
    "description": "Only test submissions, or only live ones (the default; a test key sees only test submissions).",
}
TEXT_SCHEMA = {"type": "string", "minLength": MIN_QUERY, "maxLength": MAX_QUERY, "pattern": NO_NUL}


class SubmissionFilters(django_filters.FilterSet):
    """
    `formId`, `from` and `to` (inclusive), `spam` (not spam by default), `held`, `test`, `q` (in any value).

    The filters only read their values. `scope` says what these select.
    """

    formId = IdFilter(prefix=Prefix.FORM, field_name="form_id")
    spam = extend_schema_field(SPAM_SCHEMA)(django_filters.ChoiceFilter(choices=SPAM_CHOICES, empty_label=None))
    held = extend_schema_field(HELD_SCHEMA)(django_filters.ChoiceFilter(choices=HELD_CHOICES, empty_label=None))
    test = extend_schema_field(TEST_SCHEMA)(
        django_filters.ChoiceFilter(choices=[(value, value) for value in MODES], empty_label=None)
    )
    q = extend_schema_field(TEXT_SCHEMA)(
        django_filters.CharFilter(min_length=MIN_QUERY, max_length=MAX_QUERY, strip=False)
    )

    class Meta:
        model = Submission
        fields: list[str] = []

    def is_for_tests(self, *, only_tests: bool) -> bool:
        """Return whether test submissions are selected. Raises Unauthorized for live ones, if the reader sees none."""
        test = MODES.get(self.form.cleaned_data["test"], only_tests)
        if only_tests and not test:
            raise Unauthorized
        return test

    def scope(self, organization_id: uuid.UUID, *, only_tests: bool = False) -> Scope:
        """
        Return the submissions of an organization that the filters select; `only_tests`: the reader sees no others.

        Raises NotFound and Unauthorized for the form, and Unauthorized for live ones that the reader may not see.
        """
        given = self.form.cleaned_data
        test = self.is_for_tests(only_tests=only_tests)
        if given["formId"]:
            find_owned(Form.objects.only("organization"), given["formId"], organization_id)
        return Scope(
            organization_id=organization_id,
            form_id=given["formId"],
            spam=SPAM.get(given["spam"], False),
            held=HELD.get(given["held"], Holding.LISTED),
            since=given["from"] and given["from"].start,
            until=given["to"] and given["to"].end,
            text=given["q"],
            test=test,
        )


for _name in ("from", "to"):  # `from` is a keyword: it cannot be set in the class body
    _filter = PeriodFilter(field_name=_name)
    SubmissionFilters.base_filters[_name] = SubmissionFilters.declared_filters[_name] = _filter
