"""Where the dashboard opens: the organization looked at last, or a way to the first one."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path

from dashboard.access import SESSION_KEY
from keys.models import Organization, User


@login_required
def home(request: HttpRequest) -> HttpResponse:
    """Lead to an organization's overview; who has none is asked to make one."""
    user: User = request.user  # type: ignore[assignment]  # login_required: not anonymous
    own = Organization.objects.filter(memberships__user=user).order_by("memberships__created_at")
    last = own.filter(slug=request.session.get(SESSION_KEY, "")).first() or own.first()
    return redirect("dashboard:overview", last.slug) if last else redirect("dashboard:organization-new")


urlpatterns = [path("", home, name="home")]
