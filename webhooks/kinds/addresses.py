"""Addresses in the config of destinations: those of one service, and those that the guard has to check."""

import re
from collections.abc import Sequence

from django.utils.translation import gettext
from rest_framework import serializers

from config.api.errors import invalid
from config.api.serializers import StrictSerializer, TextField
from webhooks.models import MAX_URL
from webhooks.transport.address_guard import DEFAULT_PORTS, Destination, UrlRefused, check_url, parse_url


def read_url(url: str) -> Destination:
    """Return the parts of a URL. Raises DRF's ValidationError."""
    try:
        return parse_url(url)
    except UrlRefused as error:
        raise serializers.ValidationError(error.message, code=error.code) from None


def pinned_address(hosts: Sequence[str], path: re.Pattern[str], example: str) -> type[StrictSerializer]:
    """
    Return the serializer of a config that is one `url` of one service. It refuses any other host, port or path.

    `hosts`: names, or endings that begin with a dot.
    """

    class PinnedAddress(StrictSerializer):
        url = TextField(trim_whitespace=False, max_length=MAX_URL)

        def validate_url(self, url: str) -> str:
            found = read_url(url)
            host = found.host.rstrip(".")
            is_there = any(host == one or (one.startswith(".") and host.endswith(one)) for one in hosts)
            if found.scheme != "https" or found.port != DEFAULT_PORTS["https"] or not is_there:
                text = gettext("This address is not one of this service. Paste one such as %(example)s.")
                raise serializers.ValidationError(text % {"example": example}, code="host_not_allowed")
            if not path.fullmatch(found.target):
                text = gettext("This address is not complete. Paste one such as %(example)s.")
                raise serializers.ValidationError(text % {"example": example}, code="invalid_url")
            return url

    return PinnedAddress


def check_address(url: str, field: str) -> None:
    """Raise ValidationFailed about a field for a host that must not be called, as far as its text says."""
    try:
        check_url(url)
    except UrlRefused as error:
        raise invalid(field, error.code, error.message) from None


def without_secret(url: str) -> str:
    """Return scheme and host of an address that is a secret."""
    found = parse_url(url)
    return f"{found.scheme}://{found.host}/…"
