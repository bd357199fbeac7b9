"""A person's own page: what belongs to them and not to an organization."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path


@login_required
def account(request: HttpRequest) -> HttpResponse:
    """Show the ways into the account, and the organizations it reaches."""
    return render(request, "dashboard/account.html")


urlpatterns = [path("account", account, name="account")]
