"""
Pagination of lists: `page` from 1, `limit` 1 to 100, and an exact `total` from the same snapshot as the rows.

Source: docs/contract.md 1.
"""

from typing import Any

from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response

from config.api.serializers import QueryNumberField, QuerySerializer
from config.base.database import snapshot

DEFAULT_LIMIT = 25
MAX_LIMIT = 100
FARTHEST_PAGE = 10**9  # beyond any table, and small enough that its OFFSET fits 64 bits

NUMBERS_SCHEMA: dict[str, Any] = {
    "page": {"type": "integer", "description": "The number of this page, from 1."},
    "limit": {"type": "integer", "description": "The most rows of a page."},
    "total": {"type": "integer", "description": "How many rows there are on all pages."},
    "pages": {"type": "integer", "description": "How many pages there are; 0 for none."},
}


class PageQuery(QuerySerializer):
    """The query parameters of every list."""

    page = QueryNumberField(min_value=1, default=1)
    limit = QueryNumberField(min_value=1, max_value=MAX_LIMIT, default=DEFAULT_LIMIT)


class Pagination(BasePagination):
    """Paginates for DRF, through `count_rows` and `read_rows` of the view, which can override them with faster ones."""

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any]:
        """Return the page's rows. Raises ValidationFailed for a page or limit out of range."""
        query = view.query(PageQuery)
        self.page, self.limit = query["page"], query["limit"]
        start = (min(self.page, FARTHEST_PAGE) - 1) * self.limit
        with snapshot() as alias:
            rows = queryset.using(alias)
            self.total = view.count_rows(rows)
            return list(view.read_rows(rows, start, self.limit, self.total))

    def pagination(self) -> dict[str, int]:
        """Return the pagination object `{page, limit, total, pages}`."""
        pages = -(-self.total // self.limit)
        return {"page": self.page, "limit": self.limit, "total": self.total, "pages": pages}

    def get_paginated_response(self, data: Any) -> Response:
        """Return the success envelope with `pagination` next to `data`."""
        message = f"{self.total} found." if self.total != 1 else "1 found."
        return Response({"success": True, "data": data, "message": message, "pagination": self.pagination()})

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        # No default: generated clients send it, and next to a cursor it is refused.
        page = {"type": "integer", "minimum": 1}
        limit = {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT}
        return [
            {"name": "page", "in": "query", "schema": page, "description": "Page number, from 1, the default."},
            {"name": "limit", "in": "query", "schema": limit, "description": "Rows per page."},
        ]

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        pagination = {"type": "object", "properties": NUMBERS_SCHEMA, "required": list(NUMBERS_SCHEMA)}
        properties = {
            "success": {"type": "boolean", "description": "Always true."},
            "data": schema,
            "message": {"type": "string", "minLength": 1},
            "pagination": pagination,
        }
        return {"type": "object", "properties": properties, "required": list(properties)}


class BarePagination(Pagination):
    """`{data, pagination}` without an envelope, as `GET /api/submissions` promises (docs/contract.md 1)."""

    def get_paginated_response(self, data: Any) -> Response:
        return Response({"data": data, "pagination": self.pagination()})

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        whole = super().get_paginated_response_schema(schema)
        properties = {name: whole["properties"][name] for name in ("data", "pagination")}
        return {"type": "object", "properties": properties, "required": list(properties)}
