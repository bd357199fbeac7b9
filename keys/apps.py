from django.apps import AppConfig
from django.utils.translation import gettext_lazy


class KeysConfig(AppConfig):
    name = "keys"
    verbose_name = gettext_lazy("Organizations, people and keys")

    def ready(self) -> None:
        from allauth.mfa.models import Authenticator

        from config import checks, oidc_checks  # noqa: F401 - importing registers
        from config.api.ratelimit import on_marks
        from config.clean_up import register_clean_up
        from config.secrets.rotation import encrypt_plain_secrets, register_json_secret
        from keys import checks as checks_of_organizations  # noqa: F401 - the same
        from keys.audit.accounts import connect
        from keys.audit.reading import purge_audit_trail
        from keys.devices.logins import purge_device_logins
        from keys.hour_notices import report_marks
        from keys.idempotency import purge_answers
        from keys.invitations import purge_invitations
        from keys.notices import purge_notices

        connect()
        on_marks(report_marks)
        register_json_secret(Authenticator, "data", "secret", "seed")  # of an authenticator app; of recovery codes
        register_clean_up(purge_notices, purge_audit_trail, encrypt_plain_secrets)
        register_clean_up(purge_invitations, purge_answers, purge_device_logins)
