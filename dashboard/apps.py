import gc

from django.apps import AppConfig


class DashboardConfig(AppConfig):
    name = "dashboard"

    def ready(self) -> None:
        """Register what the hourly clean-up deletes of accounts. All modules are loaded now."""
        from config.clean_up import register_clean_up
        from dashboard.accounts.session_list import purge_sessions

        register_clean_up(purge_sessions)
        gc.freeze()  # modules stay: no collection needs to search them, and forks share their memory
        gc.enable()  # manage.py turned it off
