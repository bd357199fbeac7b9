from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth import views as auth
from django.urls import path, reverse_lazy

from dashboard.form_pages import change_spam, form_page
from dashboard.people import ResetForm, only_so_often
from dashboard.views import overview

app_name = "dashboard"
urlpatterns = [
    path("", overview, name="overview"),
    path("forms/<str:form_id>", form_page, name="form"),
    path("forms/<str:form_id>/spam", change_spam, name="form-spam"),
    path("login", only_so_often(auth.LoginView.as_view(template_name="dashboard/login.html")), name="login"),
    path("logout", auth.LogoutView.as_view(), name="logout"),
    path(
        "password",
        only_so_often(
            auth.PasswordResetView.as_view(
                form_class=ResetForm,
                template_name="dashboard/password.html",
                email_template_name="dashboard/password_mail.txt",
                subject_template_name="dashboard/password_subject.txt",
                # Not from the request: its Host is the asker's to choose.
                extra_email_context={
                    "domain": urlsplit(settings.PUBLIC_URL).netloc,
                    "protocol": urlsplit(settings.PUBLIC_URL).scheme,
                },
                success_url=reverse_lazy("dashboard:password-sent"),
            )
        ),
        name="password",
    ),
    path(
        "password/sent",
        auth.PasswordResetDoneView.as_view(template_name="dashboard/password_sent.html"),
        name="password-sent",
    ),
    path(
        "password/<uidb64>/<token>",
        auth.PasswordResetConfirmView.as_view(
            template_name="dashboard/password_set.html", success_url=reverse_lazy("dashboard:login")
        ),
        name="password-set",
    ),
]
