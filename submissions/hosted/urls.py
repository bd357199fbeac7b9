from django.urls import path

from submissions.hosted.reports import report
from submissions.hosted.views import HostedForm, challenge, thanks

urlpatterns = [
    path("challenge", challenge, name="challenge"),
    path("<str:form_id>", HostedForm.as_view(), name="hosted-form"),
    path("<str:form_id>/report", report, name="hosted-report"),
    path("<str:form_id>/thanks", thanks, name="hosted-thanks"),
]
