"""How Fieldpost is put together. The Celery application is made here so that tasks find it in every process."""

from config.celery import app as celery_app

__all__ = ["celery_app"]
