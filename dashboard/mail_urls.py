from django.urls import path

from dashboard.mail_pages import confirm_page, spam_page, stop_page

urlpatterns = [
    path("confirm/<str:token>", confirm_page, name="mail-confirm"),
    path("spam/<str:token>", spam_page, name="mail-spam"),
    path("stop/<str:token>", stop_page, name="mail-stop"),
]
