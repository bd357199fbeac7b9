from django.apps import AppConfig


class KeysConfig(AppConfig):
    name = "keys"
    verbose_name = "Organizations, people and keys"

    def ready(self) -> None:
        """Register the system checks of the project."""
        from config import checks  # noqa: F401 - importing registers
