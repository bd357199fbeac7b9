"""`/api/keys`, for administrative keys only, and `/api/me`, for every secret key."""

import django_filters
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from config.api.errors import PlanRequired
from config.api.filters import refuse_unknown_parameters
from config.api.schema import enveloped
from config.api.views import KeyedView, KeyedViewSet, deleted, success
from config.base.ids import Prefix
from keys.access_keys import issue_key, regenerate_key, revoke_key
from keys.authentication import caller_key
from keys.idempotency import Repeatable
from keys.models import AccessKey
from keys.permissions import ADMIN, IsSecretKey, MayManageKeys
from keys.serializers import AccessKeyRecord, AccessKeyRecordWithKey, MeRecord, NewAccessKey


class AccessKeyFilters(django_filters.FilterSet):
    """`mode`."""

    mode = django_filters.ChoiceFilter(choices=AccessKey.Mode.choices, empty_label=None)

    class Meta:
        model = AccessKey
        fields: list[str] = []


class AccessKeyViewSet(Repeatable, KeyedViewSet):
    id_prefix = Prefix.ACCESS_KEY
    queryset = AccessKey.objects.select_related("organization").order_by("-id")
    serializer_class = AccessKeyRecord
    permission_classes = [MayManageKeys]
    filterset_class = AccessKeyFilters
    resource = ADMIN
    permission_for = dict.fromkeys(("list", "retrieve", "create", "destroy", "regenerate"), ADMIN)

    @extend_schema(request=NewAccessKey, responses={201: enveloped(AccessKeyRecordWithKey)})
    def create(self, request: Request) -> Response:
        """Create a key, optionally with a list of permissions and an expiry date. Requires the Enterprise plan."""
        key = caller_key(request)
        if not key.organization.terms.scoped_keys:
            raise PlanRequired("Creating keys through the API requires the Enterprise plan.")
        values = self.read(NewAccessKey)

        def issue() -> Response:
            made, token = issue_key(organization=key.organization, by=key, **values)
            return self.show(made, "Access key created. Copy it now: it is not shown again.", status=201, key=token)

        return self.once(issue, shown_once="key")

    @extend_schema(request=None, responses=enveloped(AccessKeyRecordWithKey))
    def regenerate(self, request: Request, id: str) -> Response:  # noqa: A002 - the name in the path
        """Replace the token of a key; the old one stops working immediately."""
        found: AccessKey = self.act()

        def renew() -> Response:
            token = regenerate_key(found, by=caller_key(request))
            found.refresh_from_db()
            return self.show(found, "Access key regenerated. The old one no longer works.", key=token)

        return self.once(renew, shown_once="key")

    @extend_schema(operation_id="revokeKey")
    def destroy(self, request: Request, id: str) -> Response:  # noqa: A002 - the name in the path
        """Revoke a key permanently. A secret key may revoke itself."""
        found: AccessKey = self.act()
        revoke_key(found, by=caller_key(request))
        return deleted(Prefix.ACCESS_KEY, found.pk, "Access key revoked.")


class MeView(KeyedView):
    permission_classes = [IsSecretKey]
    test_actions = ("get",)

    @extend_schema(
        operation_id="getMe",
        summary="Get the caller",
        responses=enveloped(MeRecord),
    )
    def get(self, request: Request) -> Response:
        """Return the organization, the access key with its permissions, and the use of the present hour."""
        refuse_unknown_parameters(request.query_params, [])
        key = caller_key(request)
        key.refresh_from_db(fields=["last_used_at"])  # this request may have set it
        me = MeRecord({"organization": key.organization, "key": key, "hour": self.usage})
        return success(me.data, f"This is the key {key.name} of {key.organization.name}.")


urlpatterns = [
    path("me", MeView.as_view(), name="me"),
    path("keys", AccessKeyViewSet.as_view({"get": "list", "post": "create"}), name="keys"),
    path("keys/<str:id>", AccessKeyViewSet.as_view({"get": "retrieve", "delete": "destroy"}), name="key"),
    path("keys/<str:id>/regenerate", AccessKeyViewSet.as_view({"post": "regenerate"}), name="key-regenerate"),
]
