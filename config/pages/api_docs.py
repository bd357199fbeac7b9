"""`/api/docs`: Swagger UI, under a policy."""

from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from config.pages.policies import API_DOCS


class ApiDocs(SpectacularSwaggerSplitView):
    """The page and its script."""

    http_method_names = ["get", "head"]

    def get(self, request: Request, *args: object, **kwargs: object) -> Response:
        """Return the page, or its script."""
        response: Response = super().get(request, *args, **kwargs)  # type: ignore[no-untyped-call]  # has no types
        response.headers["Content-Security-Policy"] = API_DOCS
        return response

    def handle_exception(self, exc: Exception) -> Response:
        """Answer errors with the envelope, not with the page's template."""
        response = super().handle_exception(exc)
        self.request.accepted_renderer = JSONRenderer()
        self.request.accepted_media_type = JSONRenderer.media_type
        return response
