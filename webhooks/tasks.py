"""Celery tasks: hints to poll the tables. A lost one costs one sweep, a second one costs one poll."""

from celery import shared_task

from config import clean_up as cleaning
from config.nudge import take_nudge
from webhooks.outbox.loop import Deliverer

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
