"""Stub."""

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import URLPattern, path

from dashboard.access import PlacedRequest, in_organization


@in_organization()
def audit_page(request: PlacedRequest) -> HttpResponse:
    """Stub."""
    return render(request, "dashboard/page.html")


urlpatterns: list[URLPattern] = [path("audit", audit_page, name="audit")]
