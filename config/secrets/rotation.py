"""
Re-encryption of stored secrets: plain ones of earlier releases, and those of an earlier key (docs/adr/0041).

Columns are found by their type, `EncryptedTextField`; members of JSON columns are registered by their app.
"""

import dataclasses
import logging
from collections.abc import Callable, Iterator
from typing import Any

from django.apps import apps
from django.db import models, transaction
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast

from config.secrets.encryption import PREFIX, CannotDecrypt, EncryptedTextField, decrypt, encrypt, is_current

BATCH = 500  # rows read by one query
ROWS_SAMPLED, SAMPLE = 1_000, 20  # of each place: the newest rows, and secrets in them
logger = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """Where a model stores a secret: a column, or the member `key` of a JSON column."""

    model: type[models.Model]
    column: str
    key: str = ""

    def rows(self) -> "models.QuerySet[Any]":
        """Return the rows with the stored text as `raw`."""
        stored = KeyTextTransform(self.key, self.column) if self.key else models.F(self.column)
        text = Cast(stored, models.TextField())  # neither decrypted nor compared as JSON
        return self.model._base_manager.annotate(raw=text).exclude(raw=None).exclude(raw="").order_by("pk")

    def rewrite(self, pk: Any) -> None:
        """Encrypt one secret with the first key. Raises CannotDecrypt."""
        with transaction.atomic():
            stored = self.rows().select_for_update().filter(pk=pk).values_list("raw", self.column).first()
            if stored is None:  # deleted or emptied since
                return
            raw, value = stored
            new = value | {self.key: encrypt(decrypt(raw))} if self.key else decrypt(raw)
            self.model._base_manager.filter(pk=pk).update(**{self.column: new})


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """Counts of one run."""

    rewritten: int
    unreadable: int


_json_places: list[Place] = []
_once_plain: list[Place] = []  # columns that an earlier release filled with clear text


def register_json_secret(model: type[models.Model], column: str, *keys: str) -> None:
    """Add members of a JSON column that hold texts of `encrypt`."""
    _json_places.extend(place for key in keys if (place := Place(model, column, key)) not in _json_places)


def register_once_plain(model: type[models.Model], *columns: str) -> None:
    """Add columns that were plain in an earlier release. Others need no hourly look: their tables can be large."""
    _once_plain.extend(place for name in columns if (place := Place(model, name)) not in _once_plain)


def places() -> list[Place]:
    columns = [
        Place(model, field.name)
        for model in apps.get_models()
        for field in model._meta.concrete_fields
        if isinstance(field, EncryptedTextField)
    ]
    return columns + _json_places


def encrypt_plain_secrets() -> Outcome:
    """Encrypt the secrets that an earlier release stored in clear text. Runs hourly, and finds nothing after that."""
    return _rewrite(_once_plain + _json_places, lambda place: place.rows().exclude(raw__startswith=PREFIX))


def reencrypt_secrets() -> Outcome:
    """Encrypt every secret with the first key, for example before an earlier key is removed."""
    return _rewrite(places(), Place.rows)


def are_unreadable() -> bool:
    """
    Return whether secrets are stored, and no key reads any of the newest: the keys are another installation's.

    A few unreadable ones among others, left by a rotation, are `reencrypt_secrets`' to report.
    """
    has_some = False
    for place in places():
        newest = place.model._base_manager.order_by("-pk").values("pk")[:ROWS_SAMPLED]  # some tables are large
        some = place.rows().filter(pk__in=newest, raw__startswith=PREFIX).values_list("raw", flat=True)
        for raw in some[:SAMPLE]:
            try:
                decrypt(raw)
            except CannotDecrypt:
                has_some = True
            else:
                return False
    return has_some


def _rewrite(chosen: list[Place], rows_of: Callable[[Place], "models.QuerySet[Any]"]) -> Outcome:
    rewritten = unreadable = 0
    for place in chosen:
        for pk, raw in _batches(rows_of(place)):
            if is_current(raw):
                continue
            try:
                place.rewrite(pk)
                rewritten += 1
            except CannotDecrypt as error:
                unreadable += 1
                logger.error("a secret cannot be read: %s %s: %s", place.model._meta.label, pk, error)
    return Outcome(rewritten, unreadable)


def _batches(rows: "models.QuerySet[Any]") -> Iterator[tuple[Any, str]]:
    last: Any = None
    while True:
        page = list((rows if last is None else rows.filter(pk__gt=last)).values_list("pk", "raw")[:BATCH])
        if not page:
            return
        yield from page
        last = page[-1][0]
