"""Every address. The API's paths have no trailing slash and no version (SPEC sections 4 and 9)."""

from django.urls import URLPattern, URLResolver, include, path, re_path
from django.views.decorators.cache import cache_page
from django.views.generic import RedirectView
from drf_spectacular.views import SpectacularJSONAPIView, SpectacularSwaggerSplitView

from config.api.views import UnknownPath
from config.health import healthz, readyz

api: list[URLPattern | URLResolver] = [
    path("", include("submissions.urls")),  # first: paths are tried in order, and nearly every request is a submission
    path("", include("keys.urls")),
    path("", include("forms_app.urls")),
    path("", include("webhooks.urls")),
    # Anybody may ask for it, as often as they like, and making it takes half a second: once a process and hour.
    path("schema", cache_page(3600, cache="local")(SpectacularJSONAPIView.as_view()), name="schema"),
    path("docs", SpectacularSwaggerSplitView.as_view(url_name="schema"), name="docs"),
    re_path(r"^.*$", UnknownPath.as_view()),
]

urlpatterns = [
    path("api/", include(api)),
    path("f/", include("submissions.hosted_urls")),
    path("", include("forms_app.script_urls")),
    path("healthz", healthz),
    path("readyz", readyz),
    path("dashboard/", include("dashboard.urls")),
    path("demo/", include("dashboard.demo_urls")),
    path("", RedirectView.as_view(pattern_name="dashboard:overview")),
]

handler400 = "config.api.errors.bad_request"
handler404 = "config.api.errors.not_found"
handler500 = "config.api.errors.internal_error"
