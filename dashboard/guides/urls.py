"""The addresses of the guides."""

from django.urls import path, re_path

from dashboard.frame.canonical_address import to_canonical
from dashboard.guides import views

app_name = "guides"
urlpatterns = [
    path("docs", views.contents, name="contents"),
    path("docs/search", views.find, name="search"),
    path("docs/<slug:name>.md", views.source, name="source"),
    path("docs/<slug:name>", views.page, name="page"),
    path("llms.txt", views.llms_txt, name="llms"),
    re_path(r"^docs/(?:.*/)?$", to_canonical),
]
