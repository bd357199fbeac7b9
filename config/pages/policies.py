"""Policies of pages: what a browser may do there."""

from typing import Any

# Features that no page of ours uses, so that neither a script nor a frame in it can.
PERMISSIONS = ", ".join(
    f"{feature}=()"
    for feature in (
        *("accelerometer", "browsing-topics", "camera", "display-capture", "geolocation", "gyroscope"),
        *("hid", "magnetometer", "microphone", "midi", "payment", "screen-wake-lock", "serial", "usb"),
    )
)
# The page has no session, and no form leads anywhere. Swagger UI sets styles by script, which needs no `unsafe-inline`.
API_DOCS = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'none'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
)


def content_security_policy(events_url: str) -> dict[str, Any]:
    """
    Return the setting of django-csp.

    Hosted forms and the demo set their own policies, which take precedence. `data:` is for the QR code of an
    authenticator app and the marks in the style sheet.
    """
    return {
        "EXCLUDE_URL_PREFIXES": ("/api/",),  # its only page is the documentation, which needs more
        "DIRECTIVES": {
            "default-src": ["'none'"],
            "script-src": ["'self'"],
            "style-src": ["'self'"],
            "img-src": ["'self'", "data:"],
            "font-src": ["'self'"],
            "connect-src": ["'self'", events_url],
            "form-action": ["'self'"],
            "base-uri": ["'none'"],
            "frame-ancestors": ["'none'"],
        },
    }
