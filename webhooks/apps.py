from django.apps import AppConfig
from django.utils.translation import gettext_lazy


class WebhooksConfig(AppConfig):
    name = "webhooks"
    verbose_name = gettext_lazy("Webhooks and deliveries")

    def ready(self) -> None:
        """Register this app's part of deleting, of the hourly clean-up and of resuming, and the mails of forms."""
        from config.clean_up import register_clean_up
        from config.secrets.rotation import register_once_plain
        from forms_app.consent.recipients import Questions
        from keys.suspension import on_resume
        from submissions.lifecycle.spam_marks import before_deleting
        from webhooks.channels.page_named import purge_pending
        from webhooks.mails.recipients import ask, ask_waiting_recipients
        from webhooks.models import Receiver
        from webhooks.outbox.suspended import release, release_strays
        from webhooks.processes.presence import forget_dead
        from webhooks.retention import (
            delete_all_hidden,
            drop_submitter_mails,
            lock_deliveries,
            purge_log,
            purge_submitter_mails,
        )

        Questions.ask = ask
        before_deleting(lock_deliveries)
        before_deleting(drop_submitter_mails)
        on_resume(release)
        register_once_plain(Receiver, "secret", "previous_secret")
        register_clean_up(forget_dead)
        register_clean_up(
            purge_log, purge_pending, delete_all_hidden, release_strays, ask_waiting_recipients, purge_submitter_mails
        )
