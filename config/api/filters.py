"""A strict django-filter: an unknown or mistyped query parameter is a `validation_error`, never ignored."""

from collections.abc import Iterator
from typing import Any, cast

import django_filters
from django import forms
from django.db.models import QuerySet
from django.http import QueryDict
from django_filters.rest_framework import DjangoFilterBackend
from drf_spectacular.utils import extend_schema_field
from rest_framework.request import Request

from config.api.errors import Detail, ValidationFailed
from config.api.serializers import MAX_DETAILS, PERIOD_SCHEMA
from config.base.ids import InvalidId, decode_id
from config.base.text import clean_text
from config.base.times import parse_period


class IdFormField(forms.CharField):
    """A public id of one kind; its value is the UUID."""

    def __init__(self, prefix: str, **kwargs: Any) -> None:
        self.prefix = prefix
        super().__init__(**kwargs)

    def clean(self, value: Any) -> Any:
        if value in self.empty_values:
            return None
        try:
            return decode_id(self.prefix, value)
        except InvalidId as error:
            raise forms.ValidationError(str(error), code="invalid_id") from None


class IdFilter(django_filters.Filter):
    """Compares with the UUID of a public id of the kind `prefix`."""

    field_class = IdFormField


class PeriodFormField(forms.CharField):
    """A date or a time of RFC 3339; its value is a Period."""

    def clean(self, value: Any) -> Any:
        if value in self.empty_values:
            return None
        try:
            return parse_period(str(value))
        except ValueError as error:
            raise forms.ValidationError(str(error), code="invalid") from None


@extend_schema_field(PERIOD_SCHEMA)
class PeriodFilter(django_filters.Filter):
    """`from` or `to`."""

    field_class = PeriodFormField


class StrictFilterBackend(DjangoFilterBackend):
    """
    Applies a view's `filterset_class` and stores it as `view.filterset`, once for `check` and the list.

    Raises ValidationFailed with a Detail for each invalid parameter.
    """

    def filter_queryset(self, request: Request, queryset: QuerySet[Any], view: Any) -> QuerySet[Any]:
        if view.filterset is None:
            view.filterset = self.get_filterset(request, queryset, view)
        if view.filterset is None:
            return queryset
        view.filterset.is_valid()  # reads the values, if `check` did not
        return cast(QuerySet[Any], view.filterset.filter_queryset(queryset))

    def check(self, request: Request, view: Any) -> None:
        """Check every query parameter before an id is looked up. Raises ValidationFailed with all problems."""
        filterset = view.filterset = self.get_filterset(request, view.queryset.none(), view)
        names = list(filterset.filters) if filterset else []
        problems = list(unknown_parameters(request.query_params, [*names, *view.query_parameters]))
        empty = [name for name in names if request.query_params.get(name) == ""]
        problems += [Detail(name, "blank", "must not be empty. Leave it out instead.") for name in empty]
        if filterset is not None and not filterset.is_valid():
            problems += form_details(filterset.form)
        problems += view.parameter_problems()
        if problems:
            raise ValidationFailed(problems[:MAX_DETAILS])


def form_details(form: forms.BaseForm) -> list[Detail]:
    """Return a Detail for each error of a Django form."""
    errors = form.errors.get_json_data().items()
    return [Detail(name, leaf["code"] or "invalid", leaf["message"]) for name, leaves in errors for leaf in leaves]


def refuse_unknown_parameters(query: QueryDict, known: list[str]) -> None:
    """Raise ValidationFailed if the query has a parameter that the endpoint does not know."""
    problems = list(unknown_parameters(query, known))
    if problems:
        raise ValidationFailed(problems[:MAX_DETAILS])


def unknown_parameters(query: QueryDict, known: list[str]) -> Iterator[Detail]:
    """Yield a Detail for each query parameter that the endpoint does not know."""
    hint = f" Known parameters: {', '.join(known)}." if known else " This endpoint has no query parameters."
    for name in (clean_text(name)[:128] for name in query if name not in known):
        message = f"There is no query parameter of this name: {name}.{hint}"
        yield Detail(name, "unknown_parameter", message, has_subject=True)
