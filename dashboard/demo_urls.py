from django.urls import path

from dashboard.demo_page import demo_page, latest

urlpatterns = [
    path("", demo_page, name="demo"),
    path("latest", latest, name="demo-latest"),
]
