"""The query and the two shapes of `pagination` of `GET /api/submissions`: numbered pages, or reading on by a cursor."""

from collections.abc import Iterator
from typing import Any

from django.http import QueryDict
from rest_framework import serializers

from config.api.errors import Detail
from config.api.pagination import NUMBERS_SCHEMA, BarePagination, PageQuery

CURSOR = "cursor"
NOT_WITH_CURSOR = {"spam": ("true", "all"), "held": ("all",)}  # rows without a place in the reading order


class SubmissionListQuery(PageQuery):
    """`page` and `limit`, or `cursor` and `limit`; an empty cursor begins."""

    cursor = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if CURSOR in attrs and "page" in self.initial_data:
            raise serializers.ValidationError({"page": ["Must not come with `cursor`. Leave one out."]}, code="invalid")
        return attrs


def cursor_problems(query: QueryDict) -> Iterator[Detail]:
    """Yield a Detail for each filter that selects what no cursor reaches."""
    for name, values in NOT_WITH_CURSOR.items():
        if CURSOR in query and query.get(name) in values:
            yield Detail(name, "invalid", f"must not be `{query[name]}` with `cursor`.")


class SubmissionPagination(BarePagination):
    """`{page, limit, total, pages}`; with a cursor `{limit, next, hasMore}`."""

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        description = (
            "Reads on instead of `page`: `next` of an earlier answer, or empty to begin. Oldest first, in the order in "
            "which submissions became readable; `spam` can only be `false`."
        )
        cursor = {"name": CURSOR, "in": "query", "schema": {"type": "string"}, "description": description}
        return [*super().get_schema_operation_parameters(view), cursor]

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        whole = super().get_paginated_response_schema(schema)
        reading_on = {
            "next": {"type": "string", "description": "The cursor for the next request."},
            "hasMore": {"type": "boolean", "description": "Whether more can be read now."},
        }
        whole["properties"]["pagination"] = {
            "type": "object",
            "description": "`page`, `total` and `pages`, or with `cursor` `next` and `hasMore`.",
            "properties": NUMBERS_SCHEMA | reading_on,
            "required": ["limit"],
        }
        return whole
