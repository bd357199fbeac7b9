"""Settings, URLs and entry points. Celery finds its application in `config.celery`: `celery -A config`."""
