"""The choice of a time zone, by areas."""

from itertools import groupby

from django import forms
from django.utils.translation import gettext_lazy

from dashboard.accounts.time_zones import UTC, zone_names


def _choices() -> list[tuple[str, str | list[tuple[str, str]]]]:
    zones = (name for name in zone_names() if name != UTC)
    areas = groupby(zones, key=lambda name: name.partition("/")[0])
    grouped = [(area, [(name, name.partition("/")[2].replace("_", " ")) for name in names]) for area, names in areas]
    return [(UTC, UTC), *grouped]


class TimeZoneForm(forms.Form):
    """One of the zones that this machine knows."""

    zone = forms.ChoiceField(label=gettext_lazy("Time zone"), choices=_choices)
