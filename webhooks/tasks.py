"""Celery tasks, and when beat sends them: hints to poll the tables. A lost or a second one costs one poll."""

from typing import Any

from celery import shared_task
from celery.signals import beat_embedded_init, beat_init, worker_process_init, worker_ready
from django.conf import settings

from config.base.nudge import DELIVER, MESSAGE_SECONDS, take_nudge
from config.celery import app
from webhooks import periodic_jobs
from webhooks.models import DelivererSlots
from webhooks.outbox.loop import Deliverer, suspects_from
from webhooks.processes.presence import leave_heartbeat

BUDGET_SECONDS = 30  # then the task ends, so that a worker can be stopped

_suspects_from = 0.0  # of this process, for each of its tasks


@shared_task
def deliver_due() -> None:
    """Dispatch and deliver until nothing is due."""
    take_nudge()
    if Deliverer(suspects_from=_suspects_from).run(until_idle=True, budget_seconds=BUDGET_SECONDS):
        deliver_due.delay()


@shared_task
def run_job(name: str) -> None:
    periodic_jobs.run(name)


sweep = settings.DELIVERY_SWEEP_SECONDS
app.add_periodic_task(sweep, app.signature(DELIVER), expires=sweep, name="sweep")
for name, (_job, seconds) in periodic_jobs.JOBS.items():
    # Busy workers take no message for up to BUDGET_SECONDS.
    expires = max(seconds, MESSAGE_SECONDS)
    app.add_periodic_task(seconds, app.signature("webhooks.tasks.run_job", [name]), expires=expires, name=name)


@worker_process_init.connect
def wait_with_suspects(**_arguments: Any) -> None:
    """Let a new process of the worker send no suspects for a moment; the sweeps after it find them."""
    global _suspects_from
    _suspects_from = suspects_from()


@worker_ready.connect
def leave_heartbeat_of_worker(**_arguments: Any) -> None:
    """Say that this worker lives, from its first connection to Redis on."""
    leave_heartbeat(DelivererSlots.Role.WORKER)


@beat_init.connect
@beat_embedded_init.connect
def leave_heartbeat_of_beat(**_arguments: Any) -> None:
    leave_heartbeat(DelivererSlots.Role.BEAT)
