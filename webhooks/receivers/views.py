"""`/api/webhooks` and `/api/destinations`: two resources of one table."""

from functools import partial
from typing import Any

import django_filters
from django.db.models import QuerySet
from django.urls import URLPattern, path
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from config.api.find_owned import find_owned
from config.api.schema import enveloped
from config.api.views import KeyedViewSet, deleted, success
from config.base.ids import Prefix
from forms_app.filters import OwnFormFilter
from forms_app.models import Form
from keys.authentication import caller_key
from keys.idempotency import Repeatable
from keys.models import Organization, Permission
from webhooks.kinds.registry import KINDS
from webhooks.models import DESTINATION_STATUSES, WEBHOOK_STATUSES, Receiver
from webhooks.receivers.actions import delete_receiver, send_test
from webhooks.receivers.destinations import add_destination, change_destination, check_new_destination
from webhooks.receivers.registration import change_webhook, register_webhook, rotate_secret
from webhooks.receivers.serializers import (
    DestinationChanges,
    DestinationRecord,
    NewDestination,
    NewWebhook,
    WebhookChanges,
    WebhookRecord,
    WebhookRecordWithSecret,
)
from webhooks.replays import replay
from webhooks.serializers import DeliveryRecord, ReplayRange, ReplayRecord
from webhooks.views import answer_to_replay

ACTIONS = ("list", "create", "retrieve", "partial_update", "destroy", "test", "rotate_secret", "replay")


def status_filter(choices: list[Any]) -> django_filters.ChoiceFilter:
    """Return the filter of a resource by its statuses, which are some of the column's."""
    made = django_filters.ChoiceFilter(choices=choices, empty_label=None)
    return extend_schema_field(serializers.ChoiceField(choices))(made)


class WebhookFilters(django_filters.FilterSet):
    formId = OwnFormFilter()
    status = status_filter(WEBHOOK_STATUSES)


class DestinationFilters(django_filters.FilterSet):
    formId = OwnFormFilter()
    kind = django_filters.ChoiceFilter(choices=[(name, name) for name in KINDS], empty_label=None)
    status = status_filter(DESTINATION_STATUSES)


REPLAY: dict[str, Any] = {"tags": ["Deliveries"], "request": ReplayRange, "responses": enveloped(ReplayRecord)}


class ReceiverViewSet(Repeatable, KeyedViewSet):
    """The actions of both resources. `noun`: begins the sentences of answers."""

    noun: str
    queryset: QuerySet[Receiver]
    resource = "webhooks"
    permission_for = dict.fromkeys(ACTIONS, Permission.WEBHOOKS_WRITE)

    def place(self, values: dict[str, Any]) -> tuple[Organization, Form | None]:
        """Return the caller's organization, and the form of a body; None for all forms."""
        of_all = values["form_id"] is None
        form = None if of_all else find_owned(Form.objects.all(), values["form_id"], self.organization_id)
        return caller_key(self.request).organization, form

    def destroy(self, request: Request, id: str) -> Response:  # noqa: A002 - the name in the path
        """Delete a receiver with its log."""
        receiver: Receiver = self.act()
        delete_receiver(receiver)
        return deleted(self.id_prefix, receiver.pk, f"{self.noun} deleted.")

    @extend_schema(request=None, responses=enveloped(DeliveryRecord))
    def test(self, request: Request, id: str) -> Response:  # noqa: A002 - the name in the path
        """Send a test event."""
        receiver, message = self.act(), "Test event queued. The delivery log shows its result."
        return self.once(lambda: success(DeliveryRecord(send_test(receiver)).data, message))

    @extend_schema(operation_id="replayDeliveries", **REPLAY)
    def replay(self, request: Request, id: str) -> Response:  # noqa: A002 - the name in the path
        """Send a range of deliveries again, or only count them (`dryRun`)."""
        values = self.read(ReplayRange, required=False)
        return answer_to_replay(self, partial(replay, self.find()), values)


class WebhookViewSet(ReceiverViewSet):
    """Webhooks of the caller's organization."""

    noun, id_prefix = "Webhook", Prefix.WEBHOOK
    queryset = Receiver.objects.webhooks().select_related("form").order_by("-id")
    serializer_class = WebhookRecord
    filterset_class = WebhookFilters

    @extend_schema(request=NewWebhook, responses={201: enveloped(WebhookRecordWithSecret)})
    def create(self, request: Request) -> Response:
        """Attach an endpoint to a form, or to all forms. Only this answer shows its signing secret."""
        values = self.read(NewWebhook)
        organization, form = self.place(values)

        def create() -> Response:
            chosen = {name: values[name] for name in ("url", "events", "mode")}
            made = register_webhook(organization=organization, form=form, **chosen)
            message = "Webhook created. Keep its secret: it is not shown again."
            return self.show(made, message, status=201, secret=made.secret)

        return self.once(create, shown_once="secret")

    @extend_schema(request=WebhookChanges, responses=enveloped(WebhookRecord))
    def partial_update(self, request: Request, id: str) -> Response:  # noqa: A002 - the name in the path
        """Change a webhook's URL, events, mode or status."""
        values = self.read(WebhookChanges)
        return self.show(change_webhook(self.find(), values), "Webhook changed.")

    @extend_schema(
        operation_id="rotateWebhookSecret",
        request=None,
        responses=enveloped(WebhookRecordWithSecret),
    )
    def rotate_secret(self, request: Request, id: str) -> Response:  # noqa: A002 - the name in the path
        """Make a new signing secret; both sign for 24 hours."""
        webhook: Receiver = self.act()

        def rotate() -> Response:
            rotated = rotate_secret(webhook)
            return self.show(rotated, "Secret rotated. The old one signs as well for 24 hours.", secret=rotated.secret)

        return self.once(rotate, shown_once="secret")


class DestinationViewSet(ReceiverViewSet):
    """Destinations of the caller's organization."""

    noun, id_prefix = "Destination", Prefix.DESTINATION
    queryset = Receiver.objects.destinations().select_related("form").order_by("-id")
    serializer_class = DestinationRecord
    filterset_class = DestinationFilters

    @extend_schema(request=NewDestination, responses={201: enveloped(DestinationRecord)})
    def create(self, request: Request) -> Response:
        """Send submissions of a form, or of all forms, to a service."""
        values: dict[str, Any] = self.read(NewDestination)
        organization, form = self.place(values)
        of = {"organization": organization, "form": form, **{name: values[name] for name in ("kind", "name", "mode")}}

        def create() -> Response:
            made = add_destination(**of, config=check_new_destination(form, values["kind"], values["config"]))
            return self.show(made, "Destination created.", status=201)

        return self.once(create)

    @extend_schema(request=DestinationChanges, responses=enveloped(DestinationRecord))
    def partial_update(self, request: Request, id: str) -> Response:  # noqa: A002 - the name in the path
        """Change a destination's name, config, mode or status."""
        values = self.read(DestinationChanges)
        return self.show(change_destination(self.find(), values), "Destination changed.")

    @extend_schema(operation_id="replayDestinationDeliveries", **REPLAY)
    def replay(self, request: Request, id: str) -> Response:  # noqa: A002 - the name in the path
        """Send a range of deliveries again, or only count them (`dryRun`)."""
        return super().replay(request, id)


def addresses(resource: str, view: type[ReceiverViewSet]) -> list[URLPattern]:
    """Return the addresses that both resources have; `resource`: "webhook" or "destination"."""
    return [
        path(f"{resource}s", view.as_view({"get": "list", "post": "create"}), name=f"{resource}s"),
        path(
            f"{resource}s/<str:id>",
            view.as_view({"get": "retrieve", "patch": "partial_update", "delete": "destroy"}),
            name=resource,
        ),
        path(f"{resource}s/<str:id>/test", view.as_view({"post": "test"}), name=f"{resource}-test"),
        path(f"{resource}s/<str:id>/replay", view.as_view({"post": "replay"}), name=f"{resource}-replay"),
    ]


urlpatterns = [
    *addresses("webhook", WebhookViewSet),
    path(
        "webhooks/<str:id>/rotate-secret",
        WebhookViewSet.as_view({"post": "rotate_secret"}),
        name="webhook-rotate-secret",
    ),
    *addresses("destination", DestinationViewSet),
]
