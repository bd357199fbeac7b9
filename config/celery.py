"""The Celery application and the one beat schedule. Tasks are hints; what is owed stands in the tables."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("fieldpost")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@app.on_after_configure.connect
def schedule(sender: Celery, **_kwargs: object) -> None:
    """Sweep for what no nudge announced; clean up once an hour."""
    from django.conf import settings

    sweep = settings.DELIVERY_SWEEP_SECONDS
    sender.add_periodic_task(sweep, sender.signature("webhooks.tasks.deliver_due"), expires=sweep, name="sweep")
    sender.add_periodic_task(3600, sender.signature("webhooks.tasks.clean_up"), expires=3600, name="clean-up")
