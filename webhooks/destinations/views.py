"""`/api/destinations`."""

from functools import partial
from typing import Any

import django_filters
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from config.api.find_owned import find_owned, path_id
from config.api.schema import enveloped
from config.api.views import KeyedViewSet, deleted, success
from config.ids import Prefix
from forms_app.filters import OwnFormFilter
from forms_app.models import Form
from keys.authentication import caller_key
from keys.idempotency import Repeatable
from keys.models import Permission
from webhooks.channels.destinations.kinds import KINDS
from webhooks.destinations.actions import (
    add_destination,
    change_destination,
    check_new_destination,
    delete_destination,
    send_test_to,
)
from webhooks.destinations.serializers import DestinationChanges, DestinationRecord, NewDestination
from webhooks.models import Destination
from webhooks.replays import replay
from webhooks.serializers import DeliveryRecord, ReplayRange, ReplayRecord
from webhooks.views import DeliveryViewSet, answer_to_replay

WRITE = Permission.WEBHOOKS_WRITE


class DestinationFilters(django_filters.FilterSet):
    """`?formId=`, `?kind=` and `?status=`."""

    formId = OwnFormFilter()
    kind = django_filters.ChoiceFilter(choices=[(name, name) for name in KINDS], empty_label=None)
    status = django_filters.ChoiceFilter(choices=Destination.Status.choices, empty_label=None)

    class Meta:
        model = Destination
        fields: list[str] = []


class DestinationViewSet(Repeatable, KeyedViewSet):
    """Destinations of the caller's organization."""

    id_prefix = Prefix.DESTINATION
    queryset = Destination.objects.select_related("form").order_by("-id")
    record_serializer_class = DestinationRecord
    filterset_class = DestinationFilters
    resource = "webhooks"
    permission_for = dict.fromkeys(("list", "create", "retrieve", "partial_update", "destroy", "test", "replay"), WRITE)

    @extend_schema(request=NewDestination, responses={201: enveloped(DestinationRecord)})
    def create(self, request: Request) -> Response:
        """Send submissions of a form, or of all forms, to a service."""
        values: dict[str, Any] = self.read(NewDestination)
        of_all = values["form_id"] is None
        form = None if of_all else find_owned(Form.objects.all(), values["form_id"], self.organization_id)
        organization, kind = caller_key(request).organization, values["kind"]

        def create() -> Response:
            config = check_new_destination(form, kind, values["config"])
            made = add_destination(organization=organization, form=form, kind=kind, name=values["name"], config=config)
            return self.show(made, "Destination created.", status=201)

        return self.once(create)

    @extend_schema(request=DestinationChanges, responses=enveloped(DestinationRecord))
    def partial_update(self, request: Request, id: str) -> Response:  # noqa: A002 - the name in the path
        """Change a destination's name, config or status."""
        values = self.read(DestinationChanges)
        return self.show(change_destination(self.find(), values), "Destination changed.")

    def destroy(self, request: Request, id: str) -> Response:  # noqa: A002 - the name in the path
        """Delete a destination with its log."""
        destination: Destination = self.act()
        delete_destination(destination)
        return deleted(Prefix.DESTINATION, destination.pk, "Destination deleted.")

    @extend_schema(request=None, responses=enveloped(DeliveryRecord))
    def test(self, request: Request, id: str) -> Response:  # noqa: A002 - the name in the path
        """Send an example submission."""
        destination, message = self.act(), "Test event queued. The delivery log shows its result."
        return self.once(lambda: success(DeliveryRecord(send_test_to(destination)).data, message))

    @extend_schema(
        operation_id="replayDestinationDeliveries",
        tags=["Deliveries"],
        request=ReplayRange,
        responses=enveloped(ReplayRecord),
    )
    def replay(self, request: Request, id: str) -> Response:  # noqa: A002 - the name in the path
        """Send a range of deliveries again, or only count them (`dryRun`)."""
        values = self.read(ReplayRange, required=False)
        return answer_to_replay(self, partial(replay, self.find()), values)


class DestinationLog(DeliveryViewSet):
    """The delivery log of a destination."""

    list_actions = ("of_destination",)
    permission_for = {"of_destination": WRITE}

    def get_queryset(self) -> Any:
        """Return the deliveries of the destination in the path. Raises as `find_owned` does."""
        queryset = self.queryset.all()
        if getattr(self, "swagger_fake_view", False):
            return queryset.none()
        pk = path_id(Prefix.DESTINATION, self.kwargs["id"])
        return queryset.filter(destination=find_owned(Destination.objects.all(), pk, self.organization_id))

    @extend_schema(operation_id="listDestinationDeliveries", tags=["Deliveries"])
    def of_destination(self, request: Request, id: str) -> Response:  # noqa: A002 - the name in the path
        """Return a page of a destination's deliveries with their newest attempts, newest first."""
        return self.list(request)


urlpatterns = [
    path("destinations", DestinationViewSet.as_view({"get": "list", "post": "create"}), name="destinations"),
    path(
        "destinations/<str:id>",
        DestinationViewSet.as_view({"get": "retrieve", "patch": "partial_update", "delete": "destroy"}),
        name="destination",
    ),
    path("destinations/<str:id>/test", DestinationViewSet.as_view({"post": "test"}), name="destination-test"),
    path("destinations/<str:id>/replay", DestinationViewSet.as_view({"post": "replay"}), name="destination-replay"),
    path(
        "destinations/<str:id>/deliveries",
        DestinationLog.as_view({"get": "of_destination"}),
        name="destination-deliveries",
    ),
]
