from django.apps import AppConfig


class SubmissionsConfig(AppConfig):
    name = "submissions"
    verbose_name = "Submissions"

    def ready(self) -> None:
        """Answer the forms' question how many submissions each has."""
        from forms_app.counts import answer_submission_count
        from submissions.tally import stored_count_of_form

        answer_submission_count(stored_count_of_form)
