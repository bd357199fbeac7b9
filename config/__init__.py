"""Settings, URLs and entry points. The Celery application is created here, so that every process finds its tasks."""

from config.celery import app as celery_app

__all__ = ["celery_app"]
