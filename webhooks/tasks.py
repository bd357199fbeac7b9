"""Celery tasks: hints to poll the tables. A lost one costs one sweep, a second one costs one poll."""

from typing import Any

from celery import shared_task
from celery.signals import beat_embedded_init, beat_init, worker_ready

from config import clean_up as cleaning
from config.nudge import take_nudge
from webhooks.models import DelivererSlots
from webhooks.outbox.loop import Deliverer
from webhooks.processes.presence import leave_heartbeat

BUDGET_SECONDS = 30  # then the task ends, so that a worker can be stopped


@shared_task
def deliver_due() -> None:
    """Dispatch and deliver until nothing is due."""
    take_nudge()
    if Deliverer().run(until_idle=True, budget_seconds=BUDGET_SECONDS):
        deliver_due.delay()


@shared_task
def clean_up() -> None:
    """Delete expired rows."""
    cleaning.clean_up()


@worker_ready.connect
def leave_heartbeat_of_worker(**_arguments: Any) -> None:
    """Say that this worker lives, from its first connection to Redis on."""
    leave_heartbeat(DelivererSlots.Role.WORKER)


@beat_init.connect
@beat_embedded_init.connect
def leave_heartbeat_of_beat(**_arguments: Any) -> None:
    """Say that beat lives."""
    leave_heartbeat(DelivererSlots.Role.BEAT)
