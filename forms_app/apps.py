from django.apps import AppConfig


class FormsConfig(AppConfig):
    name = "forms_app"
    verbose_name = "Forms"
