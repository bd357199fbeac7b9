"""Fieldpost from Python: submit to forms, read submissions on, verify webhooks."""

from fieldpost.client import Client, FileValue
from fieldpost.errors import APIError, Error, SignatureError
from fieldpost.errors import ConnectionError as ConnectionError  # noqa: A004 - as other clients name it
from fieldpost.records import Accepted, Field, Form, Me, Meta, StoredFile, Submission, Upload
from fieldpost.signatures import verify_webhook

__version__ = "0.1.0.dev0"
__all__ = [
    "APIError",
    "Accepted",
    "Client",
    "ConnectionError",
    "Error",
    "Field",
    "FileValue",
    "Form",
    "Me",
    "Meta",
    "SignatureError",
    "StoredFile",
    "Submission",
    "Upload",
    "verify_webhook",
]
