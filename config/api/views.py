"""
The base of every endpoint that needs a key: the checks in their order, the envelope, the headers.

Order: key (401), suspended (403), limit (429), permission (403), plan, size and media type, JSON and types (400), ids
(404, 403), state, values. The first failure decides the response (docs/contract.md 1).
"""

import uuid
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, ClassVar, Protocol, cast

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponseBase
from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from rest_framework.viewsets import GenericViewSet

from config.api import ratelimit
from config.api.compression import compress
from config.api.errors import NO_STORE, Detail, InvalidAccessKey, NotFound, Suspended, ValidationFailed
from config.api.etags import answer_if_changed
from config.api.filters import StrictFilterBackend, refuse_unknown_parameters
from config.api.find_owned import find_owned, path_id
from config.api.pagination import PageQuery, Pagination
from config.api.parsing import BodySize, read_json, read_large_json
from config.api.serializers import QuerySerializer, StrictSerializer, validate
from config.base.ids import encode_id


class Caller(Protocol):
    """The interface of `request.auth` for a valid key; `keys.AccessKey` implements it."""

    organization_id: uuid.UUID

    @property
    def hourly_limit(self) -> int:
        """Requests an hour of the organization's plan."""

    @property
    def is_suspended(self) -> bool:
        """Return whether the operator has suspended the organization."""

    @property
    def is_publishable(self) -> bool:
        """Return whether the key is public: usable in a page, only to submit."""


class KeyedView(APIView):
    """Authenticates, counts and checks permissions, in this order. A request counts even if it fails."""

    http_method_names = ["get", "post", "put", "patch", "delete", "head"]
    format_kwarg = None  # DRF's format suffix, which DRF's `initial` would set
    needs_key: ClassVar[bool] = True
    usage: ratelimit.Usage | None = None
    raw_body = b""  # set by `read`
    etag_actions: ClassVar[tuple[str, ...]] = ()  # whose answers have an ETag
    test_actions: ClassVar[tuple[str, ...]] = ()  # or methods, that test keys have too
    is_made_small: ClassVar[bool] = True

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Run the checks that need no body. DRF would throttle last, so that 401 and 403 would not count."""
        request.accepted_renderer, request.accepted_media_type = self.perform_content_negotiation(request)
        try:
            caller = cast(Caller | None, request.auth)
        except exceptions.AuthenticationFailed:
            caller = None
        django_request = request._request
        if caller is not None and caller.is_suspended:
            self.usage = ratelimit.count_address(django_request)
            raise Suspended
        if caller is None or caller.is_publishable:
            # A publishable key is public: a stranger's requests with it must not use up the owner's hour.
            self.usage = ratelimit.count_address(django_request)
        else:
            self.usage = ratelimit.count_organization(caller.organization_id, caller.hourly_limit)
        if self.usage.is_over:
            raise self.usage.refusal()
        if caller is None:
            raise InvalidAccessKey
        self.check_permissions(request)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Add the headers of every response, errors included, and note a limit that is nearly reached."""
        response = super().finalize_response(request, response, *args, **kwargs)
        ratelimit.note_marks(self.usage)
        if self.usage is None and self.needs_key:
            # Without a database the key's owner is unknown, so count the address instead.
            self.usage = ratelimit.count_address(request._request)
        ratelimit.add_headers(response, self.usage)
        response.headers.setdefault("Cache-Control", NO_STORE)
        if self.is_made_small and request.method in ("GET", "HEAD") and response.status_code == 200:
            # Not for a POST: one that makes a key or a webhook shows its secret next to names that were sent.
            self._make_small(request._request, response)
        return response

    def _make_small(self, request: HttpRequest, response: HttpResponseBase) -> None:
        """Answer 304 to a client that has an object, and compress the rest."""
        if not isinstance(response, Response):
            compress(request, response)
            return
        if getattr(self, "action", None) in self.etag_actions:
            response.add_post_render_callback(partial(answer_if_changed, request))
        response.add_post_render_callback(partial(compress, request))

    @property
    def organization_id(self) -> uuid.UUID:
        return cast(Caller, self.request.auth).organization_id

    def read(
        self,
        serializer_class: type[StrictSerializer],
        *,
        required: bool = True,
        parameters: Sequence[str] = (),
        size: BodySize | None = None,
        **context: Any,
    ) -> dict[str, Any]:
        """
        Return the validated body. `parameters`: of the query. `size`: of one that may be large; its numbers come as
        NumberText. Raises the errors of the checks from size to types.
        """
        request = self.request._request
        self.raw_body, body = read_large_json(request, size) if size else read_json(request, required=required)
        refuse_unknown_parameters(self.request.query_params, list(parameters))
        return validate(serializer_class(data=body, context=context))

    def query(self, serializer_class: type[QuerySerializer]) -> dict[str, Any]:
        """Return the validated query parameters that `serializer_class` declares; others are checked elsewhere."""
        names = [str(name) for name in serializer_class().fields]
        given = {name: self.request.query_params[name] for name in names if name in self.request.query_params}
        return validate(serializer_class(data=given))


class NoFields(StrictSerializer):
    """The empty body of an action."""


class KeyedViewSet(KeyedView, GenericViewSet[Any]):
    """
    A viewset over one kind of objects that belong to organizations.

    `queryset` has those of every organization: `get_queryset` narrows lists, `find_owned` checks single objects.
    `serializer_class` is that of responses; `read` validates bodies.
    """

    id_prefix: ClassVar[str]
    queryset: QuerySet[Any]
    lookup_field = "id"
    pagination_class = Pagination
    filter_backends = [StrictFilterBackend]
    filterset: Any = None  # set by StrictFilterBackend
    list_actions: ClassVar[tuple[str, ...]] = ("list",)
    etag_actions = ("retrieve",)
    extra_query: ClassVar[type[QuerySerializer]] = QuerySerializer  # of actions other than the list

    @property
    def query_serializer(self) -> type[QuerySerializer]:
        """The serializer of an action's query parameters, besides its filters."""
        return PageQuery if self.action in self.list_actions else self.extra_query

    @property
    def query_parameters(self) -> list[str]:
        """The names of an action's query parameters, besides its filters."""
        return [str(name) for name in self.query_serializer().fields]

    def parameter_problems(self) -> Sequence[Detail]:
        """Return a Detail for each invalid one of `query_parameters`."""
        try:
            self.query(self.query_serializer)
        except ValidationFailed as error:
            return list(error.details)
        return []

    def get_queryset(self) -> QuerySet[Any]:
        """Return the caller's objects, by `organization_lookup`."""
        queryset = self.queryset.all()
        if getattr(self, "swagger_fake_view", False):
            return queryset.none()
        return queryset.filter(**{self.organization_lookup: self.organization_id})

    organization_lookup: ClassVar[str] = "organization_id"

    def count_rows(self, queryset: QuerySet[Any]) -> int:
        """Return the exact total of a list."""
        return queryset.count()

    def read_rows(self, queryset: QuerySet[Any], start: int, size: int, total: int) -> Iterable[Any]:
        """Return the rows of a page."""
        return queryset[start : start + size]

    def find(self) -> Any:
        """Return the object of the path. Raises ValidationFailed, NotFound or Unauthorized."""
        refuse_unknown_parameters(self.request.query_params, [])
        pk = path_id(self.id_prefix, self.kwargs["id"])
        return find_owned(self.queryset.all(), pk, self.organization_id)

    def act(self) -> Any:
        """Return the object of the path, for an action whose body must be empty."""
        self.read(NoFields, required=False)
        return self.find()

    def show(self, instance: Any, message: str, *, status: int = 200, **extra: Any) -> Response:
        """
        Return one object in the success envelope; `extra` is added to the record, such as a secret shown once.

        A 201 says where the object is: below the path of the request.
        """
        record = {**self.get_serializer(instance).data, **extra}
        headers = {"Location": f"{self.request._request.path}/{record['id']}"} if status == 201 else None
        return success(record, message, status=status, headers=headers)

    def list(self, request: Request) -> Response:
        """Return a page of the caller's objects, newest first."""
        StrictFilterBackend().check(request, self)
        page = self.paginate_queryset(self.filter_queryset(self.get_queryset()))
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

    def retrieve(self, request: Request, id: str) -> Response:  # noqa: A002 - the name in the path and in the schema
        """Return one object."""
        return self.show(self.find(), "Found.")


def success(data: Any, message: str, *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return the success envelope (docs/contract.md 1)."""
    return Response({"success": True, "data": data, "message": message}, status=status, headers=headers)


def deleted(prefix: str, pk: uuid.UUID, message: str) -> Response:
    """Return the response of every delete: `{id, deleted: true}` in the envelope (docs/contract.md 1)."""
    return success({"id": encode_id(prefix, pk), "deleted": True}, message)


class UnknownPath(KeyedView):
    """Any path under /api/ without an endpoint: 404 in the envelope, counted if the key is valid."""

    http_method_names = ["get", "post", "put", "patch", "delete", "head", "options", "trace"]
    permission_classes = []
    needs_key = False
    schema = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Count a request with a valid key; none is needed."""
        if "HTTP_X_ACCESS_KEY" in request._request.META:
            try:
                super().initial(request, *args, **kwargs)
            except InvalidAccessKey:
                self.usage = None
        raise NotFound
