from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    name = "webhooks"
    verbose_name = "Webhooks and deliveries"

    def ready(self) -> None:
        """Register what the hourly clean-up deletes of this app."""
        from config.clean_up import register_clean_up
        from webhooks.retention import purge_log

        register_clean_up(purge_log)
