"""The Celery application. Its tasks are only hints: pending work is stored in the database."""

import os

from celery import Celery
from celery.signals import beat_init, celeryd_init

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("fieldpost")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


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
