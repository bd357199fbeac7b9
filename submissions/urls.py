from django.urls import path

from submissions.reading.analytics import AnalyticsView
from submissions.receiving.api import SubmitView
from submissions.views import SubmissionViewSet

urlpatterns = [
    path("submit", SubmitView.as_view(), name="submit"),
    path("submissions", SubmissionViewSet.as_view({"get": "list"}), name="submissions"),
    path("submissions/export", SubmissionViewSet.as_view({"get": "export"}), name="submissions-export"),
    path(
        "submissions/<str:id>",
        SubmissionViewSet.as_view({"get": "retrieve", "patch": "partial_update", "delete": "destroy"}),
        name="submission",
    ),
    path("analytics", AnalyticsView.as_view(), name="analytics"),
]
