from django.apps import AppConfig


class DashboardConfig(AppConfig):
    name = "dashboard"

    def ready(self) -> None:
        """Register the system checks of the whole project."""
        from config import checks  # noqa: F401 - importing registers
