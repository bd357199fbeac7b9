from django.urls import path

from submissions.hosted.views import challenge, hosted_form, thanks

urlpatterns = [
    path("challenge", challenge, name="challenge"),
    path("<str:form_id>", hosted_form, name="hosted-form"),
    path("<str:form_id>/thanks", thanks, name="hosted-thanks"),
]
