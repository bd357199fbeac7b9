"""
The heartbeat of a process that delivers (docs/adr/0109).

It renews the leases of the deliveries in flight, so that a lease can be short: the deliveries of a process that died
are free within one lease. It also says how many slots this process has.
"""

import datetime as dt
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterable

from django.conf import settings
from django.db import Error, connection, transaction
from django.db.models.functions import Now

from config.outage import OUTAGE
from webhooks.models import DelivererSlots, Delivery
from webhooks.outbox.shares import Slots
from webhooks.processes.presence import say_alive

BEATS = 4  # in the time of a lease


class Heartbeat:
    """
    Renews the leases of `hold` until `release`, in a thread with its own connection.

    A slow transaction of the main thread must not end the leases of requests that are still in flight.
    """

    def __init__(self, slots: Slots) -> None:
        self._slots = slots
        self._id = uuid.uuid4()
        self._held: Counter[uuid.UUID] = Counter()  # tokens, and how many of their deliveries are in flight
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def hold(self, tokens: Iterable[uuid.UUID]) -> None:
        with self._lock:
            self._held.update(tokens)
        if self._thread is None and self._held:
            self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)
            self._thread.start()

    def release(self, tokens: Iterable[uuid.UUID]) -> None:
        """Renew them no more: their results are recorded, or were given up."""
        with self._lock:
            self._held -= Counter(tokens)

    def end(self) -> None:
        """Stop, and take this process off the list."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _beat(self) -> None:
        try:
            while not self._stop.wait(settings.DELIVERY_LEASE_SECONDS / BEATS):
                self._try(self.renew)
            self._try(self._sign_off)
        finally:
            connection.close()

    def _try(self, action: Callable[[], None]) -> None:
        try:
            action()
        except Error as error:
            OUTAGE.note(error)
            connection.close()

    def renew(self) -> None:
        """Renew the leases. Without any, no other process has to know about this one."""
        with self._lock:
            tokens = list(self._held)
        if not tokens:
            return
        until = Now() + dt.timedelta(seconds=settings.DELIVERY_LEASE_SECONDS)
        with transaction.atomic():
            Delivery.objects.filter(lease_token__in=tokens).locked().update(lease_until=until)
        say_alive(self._id, until, slots=self._slots.others, mail_slots=self._slots.mails)

    def _sign_off(self) -> None:
        DelivererSlots.objects.filter(pk=self._id).delete()
