"""
The heartbeats of workers, beat and `deliver`, busy or idle (docs/adr/0109): the overview and /readyz name a dead role.

A row expires; nothing signs off. Celery's children leave none: their parent does.
"""

import datetime as dt
import os
import socket
import threading
import uuid
from typing import Any

from django.db import Error, connection
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now

from config.outage import OUTAGE
from webhooks.models import DelivererSlots

EVERY_SECONDS = 5.0
ALIVE = dt.timedelta(seconds=20)  # after a heartbeat, so that a slow one is no death
FORGET_AFTER = dt.timedelta(hours=1)  # a process that was killed


def leave_heartbeat(role: str) -> None:
    """Start a thread that says, until the process ends, that it lives."""
    threading.Thread(target=_beat, args=(role,), name="presence", daemon=True).start()


def _beat(role: str) -> None:
    own, pause = uuid.uuid4(), threading.Event()
    while True:
        try:
            say_alive(own, Now() + ALIVE, role=role, slots=0, mail_slots=0)
        except Error as error:
            OUTAGE.note(error)
        finally:
            connection.close()  # a worker's next child is a fork, which must not share it
        pause.wait(EVERY_SECONDS)


def say_alive(own: uuid.UUID, until: CombinedExpression, **values: Any) -> None:
    """Move the end of this process' row, or make it with these values, and forget processes that are dead."""
    if not DelivererSlots.objects.filter(pk=own).update(alive_until=until):
        forget_dead()
        row = DelivererSlots(pk=own, name=f"{socket.gethostname()}:{os.getpid()}", alive_until=until, **values)
        DelivererSlots.objects.bulk_create([row], ignore_conflicts=True)  # two threads of it may do so together


def forget_dead() -> None:
    """Delete the rows of processes that have been dead for an hour, such as those of a host that was removed."""
    DelivererSlots.objects.filter(alive_until__lt=Now() - FORGET_AFTER).delete()
