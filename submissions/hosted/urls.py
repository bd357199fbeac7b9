"""The addresses below `/f/`. Names begin with `hosted-`: see `config.pages.addresses`."""

from django.urls import path, re_path

from forms_app.addresses import SEGMENT
from submissions.hosted import brand
from submissions.hosted.mail_links import confirm_page, no_mails_page
from submissions.hosted.moved import OtherAddress
from submissions.hosted.reports import report
from submissions.hosted.views import HostedForm, challenge, thanks, unknown

AS_JSON = OtherAddress.as_view(is_always_json=True)

urlpatterns = [
    path("challenge", challenge, name="hosted-challenge"),
    path("brand/<slug:name>.png", brand.logo, name="hosted-logo"),
    path("confirm/<str:token>", confirm_page, name="hosted-confirm"),
    path("no-mails/<str:token>", no_mails_page, name="hosted-no-mails"),
    re_path(
        rf"^(?P<form_id>frm_[^/.]+|{SEGMENT})\.json$", OtherAddress.as_view(is_always_json=True), name="hosted-json"
    ),  # Basin
    path("<str:form_id>", HostedForm.as_view(), name="hosted-form"),
    path("<str:form_id>/", HostedForm.as_view(), name="hosted-form-slash"),
    path("<str:form_id>/report", report, name="hosted-report"),
    path("<str:form_id>/thanks", thanks, name="hosted-thanks"),
    re_path(r"", unknown, name="hosted-unknown"),
]
