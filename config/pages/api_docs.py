"""`/api/docs`: the API reference. Swagger UI in our look, under a policy; before it, a plain list of the operations."""

from functools import cache

from rest_framework.renderers import JSONRenderer, TemplateHTMLRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from config.api.openapi.finish import operations
from config.api.openapi.view import document
from config.pages.policies import API_DOCS


class ApiDocs(APIView):
    http_method_names = ["get", "head"]
    authentication_classes = []
    permission_classes = []
    renderer_classes = [TemplateHTMLRenderer]
    schema = None

    def get(self, _request: Request) -> Response:
        context = {"groups": operations_by_tag(), "about": document()["info"]["description"].split("`")}
        return Response(context, template_name="api_docs.html", headers={"Content-Security-Policy": API_DOCS})

    def handle_exception(self, exc: Exception) -> Response:
        """Answer errors with the envelope, not with the page's template."""
        response = super().handle_exception(exc)
        self.request.accepted_renderer = JSONRenderer()
        self.request.accepted_media_type = JSONRenderer.media_type
        return response


@cache
def operations_by_tag() -> dict[str, list[dict[str, str]]]:
    """
    Return the operations of the document by tag, in the order of its tags, those of one path together.

    Each is `{method, path, summary, address}`. `address`: its place on the page, as Swagger UI names it.
    """
    groups: dict[str, list[dict[str, str]]] = {tag["name"]: [] for tag in document()["tags"]}
    for path, method, operation in operations(document()):
        tag = operation["tags"][0]
        address = f"#/{tag.replace(' ', '_')}/{operation['operationId']}"
        groups[tag].append(
            {"method": method.upper(), "path": path, "summary": operation["summary"], "address": address}
        )
    return {tag: found for tag, found in groups.items() if found}
