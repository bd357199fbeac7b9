"""The settings of Django REST framework (https://www.django-rest-framework.org/api-guide/settings/)."""

from typing import Any

REST_SETTINGS: dict[str, Any] = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["keys.authentication.AccessKeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["keys.permissions.HasAccessKeyPermission"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "config.api.negotiation.IgnoreAccept",
    "DEFAULT_PARSER_CLASSES": [],  # views read bodies by `config.api.parsing`
    "DEFAULT_SCHEMA_CLASS": "config.api.schema.EnvelopeAutoSchema",
    "EXCEPTION_HANDLER": "config.api.errors.handle_exception",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
    "COMPACT_JSON": True,
    "UNICODE_JSON": True,
    "URL_FORMAT_OVERRIDE": None,  # `format` is a parameter of the export, not of DRF
}
