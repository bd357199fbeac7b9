"""Making, renaming, leaving and ending organizations."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import URLPattern, path

from dashboard.access import PlacedRequest, Role, in_organization


@in_organization(Role.ADMIN)
def organization(request: PlacedRequest) -> HttpResponse:
    """Show the organization's settings."""
    return render(request, "dashboard/organization.html")


@login_required
def new_organization(request: HttpRequest) -> HttpResponse:
    """Ask for a name, and make the organization."""
    return render(request, "dashboard/organization_new.html")


urlpatterns: list[URLPattern] = [path("organization", organization, name="organization")]
