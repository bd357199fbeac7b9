"""Stub."""

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import URLPattern, path

from dashboard.access import PlacedRequest, in_organization


@in_organization()
def webhooks_page(request: PlacedRequest) -> HttpResponse:
    """Stub."""
    return render(request, "dashboard/page.html")


urlpatterns: list[URLPattern] = [path("webhooks", webhooks_page, name="webhooks")]
