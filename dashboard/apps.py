from django.apps import AppConfig


class DashboardConfig(AppConfig):
    name = "dashboard"

    def ready(self) -> None:
        """Register what the hourly clean-up deletes of accounts."""
        from config.clean_up import register_clean_up
        from dashboard.accounts.session_list import purge_sessions

        register_clean_up(purge_sessions)
