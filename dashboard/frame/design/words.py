"""The texts that scripts show, in the reader's language: each page has them as JSON."""

from django.utils.formats import get_format
from django.utils.translation import gettext, pgettext


def words_of_scripts() -> dict[str, str]:
    """Return texts by name; scripts fill in `{names}`."""
    return {
        "copied": gettext("Copied"),
        "copyByKeys": gettext("Press Ctrl+C"),
        "soon": gettext("in a moment"),
        "now": gettext("just now"),
        "thousands": str(get_format("THOUSAND_SEPARATOR")),
        "live": pgettext("the state of a list", "Live"),
        "reconnecting": gettext("Reconnecting"),
        "where": gettext("{total} · page {page} of {pages}"),
        "chart": gettext("Chart of submissions per day. The arrow keys read one day after the other."),
        "field": gettext("Field"),
        "moved": gettext("{label}, now {place} of {count}."),
        "notFound": gettext("No results. Submissions are found by their whole ID."),
        "unanswered": gettext("The search did not answer. Check your connection, or reload the page."),
    }


def words_on_passkeys() -> dict[str, str]:
    """Return the reasons for which a passkey is not used, by the name of the browser's error; "" for others."""
    return {
        "NotAllowedError": gettext("Nothing happened: the request was canceled or took too long. Try again."),
        "InvalidStateError": gettext("This device already has a passkey for this account."),
        "SecurityError": gettext(
            "Passkeys need a host name, and https unless it is localhost. This page came from {origin}."
        ),
        "NotSupportedError": gettext("This device cannot create such a passkey."),
        "": gettext("That did not work. Try again, or use your password."),
    }
