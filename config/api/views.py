"""
The base of every keyed endpoint: the gates in their order, the envelope, the headers.

key (401), limit (429), permission (403), plan, size and media type, JSON and types (400), ids (404, 403), state,
values: the first that fails answers (CONTRACT section 1).
"""

import uuid
from collections.abc import Iterable
from typing import Any, ClassVar, Protocol, cast

from django.db.models import QuerySet
from rest_framework import exceptions, serializers
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from rest_framework.viewsets import GenericViewSet

from config.api import ratelimit
from config.api.errors import Detail, InvalidAccessKey, NotFound, ValidationFailed
from config.api.filters import StrictFilterBackend, refuse_unknown_parameters
from config.api.find_owned import find_owned, path_id
from config.api.pagination import PageQuery, Pagination
from config.api.parsing import json_body
from config.api.serializers import QuerySerializer, StrictSerializer, validate
from config.ids import encode_id


class Caller(Protocol):
    """What `request.auth` tells the API about a valid key; `keys.AccessKey` is one."""

    organization_id: uuid.UUID

    @property
    def hourly_limit(self) -> int:
        """Requests an hour of the organization's plan."""

    @property
    def is_publishable(self) -> bool:
        """Tell whether the key may stand in a page."""


class AlwaysJson(BaseContentNegotiation):
    """Answers are JSON whatever `Accept` says; a 406 would help nobody."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        """Return the one parser."""
        return parsers[0]

    def select_renderer(self, request: Request, renderers: Any, format_suffix: Any = None) -> Any:
        """Return the one renderer and its media type."""
        return renderers[0], renderers[0].media_type


class KeyedView(APIView):
    """Authenticates, counts and checks permissions, in this order, whatever fails."""

    content_negotiation_class = AlwaysJson
    http_method_names = ["get", "post", "patch", "delete", "head"]
    format_kwarg = None  # DRF's suffix for formats, which `initial` would set
    needs_key: ClassVar[bool] = True
    usage: ratelimit.Usage | None = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Open the gates that need no body. DRF would throttle last, so 401 and 403 would never count."""
        request.accepted_renderer, request.accepted_media_type = self.perform_content_negotiation(request)
        try:
            caller = cast(Caller | None, request.auth)
        except exceptions.AuthenticationFailed:
            caller = None
        django_request = request._request
        if caller is None or caller.is_publishable:
            # A page's key is public: what a stranger does with it here must not use up its owner's hour.
            self.usage = ratelimit.count_address(django_request)
        else:
            self.usage = ratelimit.count_organization(django_request, str(caller.organization_id), caller.hourly_limit)
        if self.usage.is_over:
            raise self.usage.refusal()
        if caller is None:
            raise InvalidAccessKey
        self.check_permissions(request)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Add the limit's headers to every answer, errors too."""
        response = super().finalize_response(request, response, *args, **kwargs)
        if self.usage is None and self.needs_key:
            # Without a database nobody knows whose key it is; then the address's count stands in.
            self.usage = ratelimit.count_address(request._request)
        ratelimit.add_headers(response, self.usage)
        return response

    @property
    def organization_id(self) -> uuid.UUID:
        """The organization on whose behalf the caller acts."""
        return cast(Caller, self.request.auth).organization_id

    def read(
        self, serializer_class: type[StrictSerializer], *, required: bool = True, **context: Any
    ) -> dict[str, Any]:
        """Return the validated body. Raises the errors of the gates from size to types."""
        body = json_body(self.request._request, required=required)
        refuse_unknown_parameters(self.request.query_params, [])
        return validate(serializer_class(data=body, context=context))

    def query(self, serializer_class: type[QuerySerializer]) -> dict[str, Any]:
        """Return the validated query parameters that `serializer_class` names; others are checked elsewhere."""
        names = [str(name) for name in serializer_class().fields]
        given = {name: self.request.query_params[name] for name in names if name in self.request.query_params}
        return validate(serializer_class(data=given))


class NoFields(StrictSerializer):
    """The body of an action that takes none."""


class KeyedViewSet(KeyedView, GenericViewSet[Any]):
    """
    A viewset over objects of one kind that belong to organizations.

    `queryset` is every organization's: lists narrow it in `get_queryset`, single objects pass `find_owned`.
    """

    id_prefix: ClassVar[str]
    queryset: QuerySet[Any]
    lookup_field = "id"
    pagination_class = Pagination
    filter_backends = [StrictFilterBackend]
    record_serializer_class: type[serializers.BaseSerializer[Any]]
    filterset: Any = None  # set by StrictFilterBackend
    list_actions: ClassVar[tuple[str, ...]] = ("list",)
    extra_query: ClassVar[type[QuerySerializer]] = QuerySerializer  # of actions other than the list

    @property
    def query_serializer(self) -> type[QuerySerializer]:
        """What an action reads beside its filters."""
        return PageQuery if self.action in self.list_actions else self.extra_query

    @property
    def query_parameters(self) -> list[str]:
        """Names that an action reads beside its filters."""
        return [str(name) for name in self.query_serializer().fields]

    def parameter_problems(self) -> list[Detail]:
        """Return what is wrong with those."""
        try:
            self.query(self.query_serializer)
        except ValidationFailed as error:
            return list(error.details)
        return []

    def get_serializer_class(self) -> type[serializers.BaseSerializer[Any]]:
        """Return how this resource is shown; bodies are read by `read`."""
        return self.record_serializer_class

    def get_serializer_context(self) -> dict[str, Any]:
        """Return DRF's context."""
        return {"request": self.request, "view": self}

    def get_queryset(self) -> QuerySet[Any]:
        """Return the caller's objects. Subclasses say how their model names the organization."""
        queryset = self.queryset.all()
        if getattr(self, "swagger_fake_view", False):
            return queryset.none()
        return queryset.filter(**{self.organization_lookup: self.organization_id})

    organization_lookup: ClassVar[str] = "organization_id"

    def count_rows(self, queryset: QuerySet[Any]) -> int:
        """Return a list's exact total."""
        return queryset.count()

    def read_rows(self, queryset: QuerySet[Any], start: int, size: int, total: int) -> Iterable[Any]:
        """Return a page's rows."""
        return queryset[start : start + size]

    def find(self) -> Any:
        """Return the object of the path. Raises ValidationFailed, NotFound or Unauthorized."""
        refuse_unknown_parameters(self.request.query_params, [])
        pk = path_id(self.id_prefix, self.kwargs["id"])
        return find_owned(self.queryset.all(), pk, self.organization_id)

    def act(self) -> Any:
        """Return the object of the path for an action without a body, after making sure that there is none."""
        self.read(NoFields, required=False)
        return self.find()

    def show(self, instance: Any, message: str, *, status: int = 200, **extra: Any) -> Response:
        """Return one object in the success envelope; `extra` joins the record (a secret shown once)."""
        return success({**self.get_serializer(instance).data, **extra}, message, status=status)

    def list(self, request: Request) -> Response:
        """Return a page of the caller's objects, newest first."""
        StrictFilterBackend().check(request, self)
        page = self.paginate_queryset(self.filter_queryset(self.get_queryset()))
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

    def retrieve(self, request: Request, id: str) -> Response:  # noqa: A002 - the name in the path and in the schema
        """Return one object."""
        return self.show(self.find(), "Found.")


def success(data: Any, message: str, *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return the success envelope (SPEC section 2)."""
    return Response({"success": True, "data": data, "message": message}, status=status, headers=headers)


def deleted(prefix: str, pk: uuid.UUID, message: str) -> Response:
    """Return the answer of every delete: `{id, deleted: true}` in the envelope (CONTRACT section 1)."""
    return success({"id": encode_id(prefix, pk), "deleted": True}, message)


class UnknownPath(KeyedView):
    """Anything under /api/ that is no endpoint: 404 in the envelope, counted when the key is valid."""

    http_method_names = ["get", "post", "put", "patch", "delete", "head", "options", "trace"]
    permission_classes = []
    needs_key = False
    schema = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Count a valid key's request; nothing here needs one."""
        if "HTTP_X_ACCESS_KEY" in request._request.META:
            try:
                super().initial(request, *args, **kwargs)
            except InvalidAccessKey:
                self.usage = None
        raise NotFound

    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Never reached: `initial` raises."""
        raise NotFound
