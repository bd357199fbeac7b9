from django.apps import AppConfig


class SubmissionsConfig(AppConfig):
    name = "submissions"
    verbose_name = "Submissions"

    def ready(self) -> None:
        """Register the submission counts of forms, and this app's part of the hourly clean-up."""
        from config.clean_up import register_clean_up
        from forms_app.models import FormQuerySet
        from submissions.counts.stored_bytes import count_unknown
        from submissions.counts.tally import stored_count_of_form
        from submissions.counts.usage import purge_usage
        from submissions.files.removal import purge_files
        from submissions.importing.undo import finish_undoing
        from submissions.importing.uploads import purge_files_of_imports
        from submissions.lifecycle.closing import finish_all_deleting
        from submissions.lifecycle.confirmation import purge_unconfirmed
        from submissions.lifecycle.erasure import finish_all_erasing
        from submissions.lifecycle.retention import purge_idempotency_keys, purge_submissions
        from submissions.lifecycle.unverified import purge_unverified
        from submissions.refusals.recorder import purge_refusals

        FormQuerySet.count_submissions = stored_count_of_form
        register_clean_up(finish_all_erasing, purge_submissions, purge_idempotency_keys, purge_refusals)
        register_clean_up(count_unknown, purge_usage, finish_all_deleting, purge_unverified)
        register_clean_up(purge_unconfirmed, finish_undoing, purge_files_of_imports)
        register_clean_up(purge_files)  # after all that deletes submissions and forms
