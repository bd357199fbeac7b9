"""
Files in an S3-compatible service, by django-storages (docs/adr/0096). FILES_URL says where.

Every failure of the service is an OSError here, as with files on disk: boto3's own errors share no base with it.
"""

import contextlib
from collections.abc import Iterator
from typing import Any, ClassVar

from boto3.exceptions import Boto3Error
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
from django.conf import settings
from django.core.files import File
from storages.backends.s3 import S3Storage

from config.files.s3_url import Bucket, read_files_url

CONNECT_SECONDS, READ_SECONDS = 3, 15  # of one attempt; a service that answers nothing costs twice their sum
ATTEMPTS = 2
SINGLE_PUT_BYTES = 128 * 1024 * 1024  # above any file: a file is one request, and so there whole or not at all
MEMORY_BYTES = 1024 * 1024  # of a file that is read; more is on disk
LINK_SECONDS = 300
GONE = {"404", "NoSuchKey", "NotFound"}


class S3Files(S3Storage):
    """
    Django's storage of the bucket of FILES_URL. Raises OSError, of a missing object FileNotFoundError.

    Objects are private and are never overwritten.
    """

    # A `custom_domain` would serve addresses that nobody signed.
    _FIXED: ClassVar[dict[str, Any]] = {
        "custom_domain": None,
        "default_acl": None,  # that of the bucket: services refuse requests that set one
        "file_overwrite": False,
        "gzip": False,
        "max_memory_size": MEMORY_BYTES,
        "object_parameters": {"ContentType": "application/octet-stream"},
        "querystring_auth": True,
        "querystring_expire": LINK_SECONDS,
        "transfer_config": TransferConfig(multipart_threshold=SINGLE_PUT_BYTES, use_threads=False),
    }

    def get_default_settings(self) -> dict[str, Any]:
        """Return those of FILES_URL. With credentials in it, none of the environment are mixed in."""
        bucket = read_files_url(settings.FILES_URL)
        place = {"bucket_name": bucket.name, "location": bucket.prefix, "endpoint_url": bucket.endpoint}
        place |= {"region_name": bucket.region, "client_config": _config(bucket)}
        if bucket.access_key:
            place |= {"access_key": bucket.access_key, "secret_key": bucket.secret_key}
            place |= {"security_token": None, "session_profile": None}
        options: dict[str, Any] = super().get_default_settings()
        return options | place | self._FIXED

    @property
    def bucket(self) -> Any:
        """The bucket over this thread's connection: boto3's resources are not made for several threads."""
        return self.connection.Bucket(self.bucket_name)

    def save(self, name: str | None, content: Any, max_length: int | None = None) -> str:  # noqa: ARG002 - Django's
        """Store a file under a new name; the service has all of it when this returns."""
        with _failures():
            if name is None or self.exists(name):
                raise FileExistsError(f"{name} is already stored")
            return str(super()._save(name, content))

    def _open(self, name: str, mode: str = "rb") -> "File[bytes]":
        with _failures():
            found: File[bytes] = super()._open(name, mode)
            found.open()  # download it now, while errors are expected
            return found

    def delete(self, name: str) -> None:
        """Delete a file, if there is one. A missing bucket is an error: its files may be in another one."""
        with _failures():
            try:
                self.bucket.Object(self._normalize_name(name)).delete()
            except ClientError as error:
                if error.response.get("Error", {}).get("Code") not in GONE:
                    raise

    def check(self) -> None:
        """Raise OSError unless the service answers, takes the key, and has the bucket."""
        with _failures():
            self.connection.meta.client.head_bucket(Bucket=self.bucket_name)

    def signed_url(self, name: str, *, disposition: str, content_type: str) -> str:
        """Return an address that is valid for 5 minutes, at which the service sends the file with these headers."""
        headers = {"ResponseContentDisposition": disposition, "ResponseContentType": content_type}
        headers["ResponseCacheControl"] = "private, no-store"
        with _failures():
            return str(self.url(name, parameters=headers, expire=LINK_SECONDS))


def _config(bucket: Bucket) -> Config:
    return Config(
        signature_version="s3v4",
        connect_timeout=CONNECT_SECONDS,
        read_timeout=READ_SECONDS,
        retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
        # Checksums in trailers, boto3's default since 1.36, are refused by other services, or stored within the file.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        # The signature covers the body instead, so that the service compares its digest, over https too.
        s3={"addressing_style": bucket.addressing or "auto", "payload_signing_enabled": True},
    )


@contextlib.contextmanager
def _failures() -> Iterator[None]:
    """Raise OSError for the errors of boto3, with one line that holds no credentials."""
    try:
        yield
    except ClientError as error:
        found = error.response.get("Error", {})
        raise OSError(f"{error.operation_name}: {found.get('Code')} {str(found.get('Message'))[:200]}") from error
    except (BotoCoreError, Boto3Error, HTTPClientError) as error:
        raise OSError(f"{type(error).__name__}: {str(error)[:200]}") from error
