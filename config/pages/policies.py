"""Policies of pages: what a browser may do there."""

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
