"""The Celery application and its beat schedule. Tasks are only hints: pending work is stored in the database."""

import os

from celery import Celery
from celery.signals import beat_init, celeryd_init

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("fieldpost")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@app.on_after_configure.connect
def schedule(sender: Celery, **_kwargs: object) -> None:
    """Deliver due rows that no nudge announced; clean up once an hour."""
    from django.conf import settings

    sweep = settings.DELIVERY_SWEEP_SECONDS
    sender.add_periodic_task(sweep, sender.signature("webhooks.tasks.deliver_due"), expires=sweep, name="sweep")
    sender.add_periodic_task(3600, sender.signature("webhooks.tasks.clean_up"), expires=3600, name="clean-up")


@celeryd_init.connect
def forget_hints_of_lost_redis(**_kwargs: object) -> None:
    """
    Let no worker put back the messages that it holds when a connection closes.

    kombu does so over a connection that it has taken apart already: an AttributeError, which ends the worker. The
    messages are hints, and a lost one costs one sweep.
    """
    from kombu.transport.redis import Channel

    Channel.do_restore = False


@celeryd_init.connect
@beat_init.connect
def refuse(**_kwargs: object) -> None:
    """End a worker, or beat, with the hints of wrong settings: Celery runs Django's checks and ignores their result."""
    from django.core.management.base import SystemCheckError

    from config.checks import refuse_wrong_settings

    try:
        refuse_wrong_settings()
    except SystemCheckError as error:
        raise SystemExit(str(error)) from None
