"""`/api/docs`: Swagger UI, under a policy."""

from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework.request import Request
from rest_framework.response import Response

from config.pages.policies import API_DOCS


class ApiDocs(SpectacularSwaggerSplitView):
    """The page and its script."""

    def get(self, request: Request, *args: object, **kwargs: object) -> Response:
        """Return the page, or its script."""
        response: Response = super().get(request, *args, **kwargs)  # type: ignore[no-untyped-call]  # has no types
        response.headers["Content-Security-Policy"] = API_DOCS
        return response
