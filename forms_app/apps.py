from django.apps import AppConfig


class FormsConfig(AppConfig):
    name = "forms_app"
    verbose_name = "Forms"

    def ready(self) -> None:
        from config.clean_up import register_clean_up
        from config.secrets.rotation import register_json_secret
        from forms_app.consent.questions import purge_questions
        from forms_app.consent.reports import purge_reports
        from forms_app.models import Form

        register_clean_up(purge_reports, purge_questions)
        register_json_secret(Form, "spam_protection", "captcha_secret")
