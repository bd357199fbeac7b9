"""The settings of drf-spectacular: https://drf-spectacular.readthedocs.io/en/latest/settings.html"""

from typing import Any


def openapi_settings(public_url: str) -> dict[str, Any]:
    """Return `SPECTACULAR_SETTINGS` of a service at `public_url`."""
    return {
        "TITLE": "Fieldpost API",
        "VERSION": "1.0",
        "DESCRIPTION": (
            "Forms, their submissions, webhooks and access keys. Send an access key in the header `x-access-key` with "
            "every request. Errors have one shape, `Error`. Responses may get new members: ignore unknown ones."
        ),
        "CONTACT": {"name": "The operator of this service", "url": public_url},
        "LICENSE": {"name": "MIT", "identifier": "MIT"},
        "SERVERS": [{"url": public_url, "description": "This service"}],
        "SERVE_AUTHENTICATION": [],
        "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
        "COMPONENT_SPLIT_REQUEST": True,
        "OAS_VERSION": "3.1.0",
        "SORT_OPERATIONS": False,
        "ENUM_NAME_OVERRIDES": {
            "AccessKeyKind": "keys.models.AccessKey.Kind",
            "AccessKeyMode": "keys.models.AccessKey.Mode",
            "DeliveryStatus": "webhooks.models.Delivery.Status",
            "DestinationKind": "webhooks.kinds.registry.KINDS",
            "DestinationStatus": "webhooks.models.DESTINATION_STATUSES",
            "EventType": "webhooks.events.public_events",
            "FieldType": "forms_app.field_kinds.KINDS",
            "FormCaptcha": "forms_app.document.spam.CAPTCHAS",
            "FormLanguage": "django.conf.settings.LANGUAGES",
            "FormRecipientStatus": "forms_app.document.bodies.RECIPIENT_STATUSES",
            "FormStatus": "forms_app.models.Form.Status",
            "HeldReason": ["quota", "confirmation", "rule"],
            "ReceiverMode": "webhooks.models.Receiver.Mode",
            "Permission": "keys.models.Permission",
            "WebhookStatus": "webhooks.models.WEBHOOK_STATUSES",
        },
        "WEBHOOKS": "webhooks.openapi.WEBHOOKS",
        "PREPROCESSING_HOOKS": ["config.api.openapi.finish.only_documented_paths"],
        "POSTPROCESSING_HOOKS": ["webhooks.openapi.complete_webhooks", "config.api.openapi.finish.finish_schema"],
    }
