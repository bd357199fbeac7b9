"""The operators' admin: its overview, and its models in groups by what an operator looks for."""

from typing import Any

from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from dashboard.operators.figures import overview

GROUPS = (
    (gettext_lazy("Organizations"), ("Organization", "UsageDay", "Form", "FormReport")),
    (gettext_lazy("Submissions and deliveries"), ("Submission", "StoredFile", "Delivery")),
    (gettext_lazy("People and keys"), ("User", "Authenticator", "Identity", "AccessKey", "AuditEvent")),
)


@require_safe
def figures(request: HttpRequest) -> HttpResponse:
    return render(request, "admin/parts/figures.html", overview())


def arrange(site: AdminSite) -> list[URLPattern]:
    """Put figures on the index of an admin and its models into groups. Returns the addresses to add before its own."""
    unarranged, plain_index = site.get_app_list, site.index

    def get_app_list(request: HttpRequest, app_label: str | None = None) -> list[Any]:
        apps = unarranged(request, app_label)
        return apps if app_label else grouped(apps)

    def index(request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        return plain_index(request, {**overview(), **(extra_context or {})})

    site.get_app_list = get_app_list  # type: ignore[method-assign]  # of the site that every app registers in
    site.index = index  # type: ignore[method-assign,assignment]  # Django's site has no other place for its index
    return [path("overview", site.admin_view(figures), name="operators-figures")]


def grouped(apps: list[Any]) -> list[Any]:
    """Return the models of Django's list of apps in GROUPS; a model that is in none is in the last."""
    models = {model["object_name"]: model for app in apps for model in app["models"]}
    known = {name for _, names in GROUPS for name in names}
    others = tuple(name for name in models if name not in known)
    found = []
    for place, (label, names) in enumerate(GROUPS):
        wanted = (*names, *others) if place == len(GROUPS) - 1 else names
        shown = [models[name] for name in wanted if name in models]
        group = {"name": label, "app_label": f"group-{place}", "app_url": reverse("admin:index")}
        if shown:
            found.append({**group, "has_module_perms": True, "models": shown})
    return found
