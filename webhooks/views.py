"""`/api/webhooks` and `/api/deliveries`."""

from collections.abc import Callable
from functools import partial
from typing import Any

import django_filters
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from config.api.errors import NotFound
from config.api.filters import refuse_unknown_parameters
from config.api.find_owned import find_owned, path_id
from config.api.schema import enveloped
from config.api.views import KeyedViewSet, deleted, success
from config.ids import Prefix
from forms_app.filters import OwnFormFilter
from forms_app.models import Form
from keys.authentication import caller_key
from keys.idempotency import Repeatable
from keys.models import Permission
from webhooks.events import secret_events
from webhooks.log_queries import load_answers, newest_attempts
from webhooks.models import Delivery, Webhook
from webhooks.registration import (
    change_webhook,
    delete_webhook,
    register_webhook,
    rotate_secret,
    send_test,
)
from webhooks.replays import replay, replay_mails, retry_delivery
from webhooks.serializers import (
    REPLAYABLE,
    DeliveryRecord,
    MailReplay,
    NewWebhook,
    ReplayRange,
    ReplayRecord,
    SentDeliveryRecord,
    WebhookChanges,
    WebhookRecord,
    WebhookRecordWithSecret,
)

WRITE = Permission.WEBHOOKS_WRITE


def answer_to_replay(view: Repeatable, resend: Callable[..., tuple[int, int]], values: dict[str, Any]) -> Response:
    """Send a range of deliveries again by `resend`, or count them. `values`: of a ReplayRange or MailReplay."""
    statuses, dry_run = REPLAYABLE[values["status"]], values["dryRun"]
    since = values["from"].start if "from" in values else None
    until = values["to"].end if "to" in values else None

    def send_again() -> Response:
        matched, replayed = resend(since=since, until=until, statuses=statuses, dry_run=dry_run)
        data = {"matched": matched, "replayed": replayed, "dryRun": dry_run}
        return success(data, f"{matched} would be sent again." if dry_run else f"{replayed} are sent again.")

    return view.once(send_again)


class WebhookFilters(django_filters.FilterSet):
    """`?formId=` and `?status=`."""

    formId = OwnFormFilter()
    status = django_filters.ChoiceFilter(choices=Webhook.Status.choices, empty_label=None)

    class Meta:
        model = Webhook
        fields: list[str] = []


class WebhookViewSet(Repeatable, KeyedViewSet):
    """Webhooks of the caller's organization."""

    id_prefix = Prefix.WEBHOOK
    queryset = Webhook.objects.select_related("form").order_by("-id")
    record_serializer_class = WebhookRecord
    filterset_class = WebhookFilters
    resource = "webhooks"
    permission_for = dict.fromkeys(
        ("list", "create", "retrieve", "partial_update", "destroy", "test", "rotate_secret", "replay"), WRITE
    )

    def get_queryset(self) -> Any:
        """Return the caller's webhooks: those of its forms, and those of all forms."""
        if getattr(self, "swagger_fake_view", False):
            return Webhook.objects.none()
        return Webhook.objects.of_organization(self.organization_id).select_related("form").order_by("-id")

    @extend_schema(request=NewWebhook, responses={201: enveloped(WebhookRecordWithSecret)})
    def create(self, request: Request) -> Response:
        """Attach an endpoint to a form, or to all forms. Only this answer shows its signing secret."""
        values = self.read(NewWebhook)
        of_all = values["form_id"] is None
        form = None if of_all else find_owned(Form.objects.all(), values["form_id"], self.organization_id)
        all_forms_of = caller_key(request).organization if of_all else None

        def create() -> Response:
            made = register_webhook(form=form, all_forms_of=all_forms_of, url=values["url"], events=values["events"])
            message = "Webhook created. Keep its secret: it is not shown again."
            return self.show(made, message, status=201, secret=made.secret)

        return self.once(create, shown_once="secret")

    @extend_schema(request=WebhookChanges, responses=enveloped(WebhookRecord))
    def partial_update(self, request: Request, id: str) -> Response:  # noqa: A002 - the name in the path
        """Change a webhook's URL, events or status."""
        values = self.read(WebhookChanges)
        return self.show(change_webhook(self.find(), values), "Webhook changed.")

    def destroy(self, request: Request, id: str) -> Response:  # noqa: A002 - the name in the path
        """Delete a webhook with its log."""
        webhook: Webhook = self.act()
        delete_webhook(webhook)
        return deleted(Prefix.WEBHOOK, webhook.pk, "Webhook deleted.")

    @extend_schema(request=None, responses=enveloped(DeliveryRecord))
    def test(self, request: Request, id: str) -> Response:  # noqa: A002 - the name in the path
        """Send a test event."""
        webhook, message = self.act(), "Test event queued. The delivery log shows its result."
        return self.once(lambda: success(DeliveryRecord(send_test(webhook)).data, message))

    @extend_schema(
        operation_id="rotateWebhookSecret",
        request=None,
        responses=enveloped(WebhookRecordWithSecret),
    )
    def rotate_secret(self, request: Request, id: str) -> Response:  # noqa: A002 - the name in the path
        """Make a new signing secret; both sign for 24 hours."""
        webhook: Webhook = self.act()

        def rotate() -> Response:
            rotated = rotate_secret(webhook)
            return self.show(rotated, "Secret rotated. The old one signs as well for 24 hours.", secret=rotated.secret)

        return self.once(rotate, shown_once="secret")

    @extend_schema(
        operation_id="replayDeliveries",
        tags=["Deliveries"],
        request=ReplayRange,
        responses=enveloped(ReplayRecord),
    )
    def replay(self, request: Request, id: str) -> Response:  # noqa: A002 - the name in the path
        """Send a range of deliveries again, or only count them (`dryRun`)."""
        values = self.read(ReplayRange, required=False)
        return answer_to_replay(self, partial(replay, self.find()), values)


class DeliveryFilters(django_filters.FilterSet):
    """`?status=`."""

    status = django_filters.ChoiceFilter(choices=Delivery.Status.choices, empty_label=None)

    class Meta:
        model = Delivery
        fields: list[str] = []


class DeliveryViewSet(Repeatable, KeyedViewSet):
    """The delivery log of a webhook, one delivery with its requests, and retrying one."""

    id_prefix = Prefix.DELIVERY
    queryset = (
        Delivery.objects.select_related("webhook", "destination", "message")
        .defer("message__body", "destination__config")
        .prefetch_related(newest_attempts())
        .order_by("-id")
    )
    record_serializer_class = DeliveryRecord
    filterset_class = DeliveryFilters
    resource = "webhooks"
    list_actions = ("of_webhook",)
    permission_for = dict.fromkeys(("of_webhook", "retrieve", "retry", "replay_mails"), WRITE)

    def get_queryset(self) -> Any:
        """Return the deliveries of the webhook in the path. Raises as `find_owned` does."""
        queryset = super().get_queryset()
        if getattr(self, "swagger_fake_view", False):
            return queryset
        pk = path_id(Prefix.WEBHOOK, self.kwargs["id"])
        return queryset.filter(webhook=find_owned(Webhook.objects.select_related("form"), pk, self.organization_id))

    def find(self) -> Any:
        """Return the delivery of the path. One of a webhook or destination that is being deleted is not found."""
        found = super().find()
        if any(receiver and receiver.deleted_at for receiver in (found.webhook, found.destination)):
            raise NotFound
        return found

    def paginate_queryset(self, queryset: Any) -> Any:
        """Return the page's deliveries, with their attempts."""
        page = super().paginate_queryset(queryset)
        load_answers(page or [])
        return page

    @extend_schema(operation_id="listDeliveries", tags=["Deliveries"])
    def of_webhook(self, request: Request, id: str) -> Response:  # noqa: A002 - the name in the path
        """Return a page of a webhook's deliveries with their newest attempts, newest first."""
        return self.list(request)

    @extend_schema(responses=enveloped(SentDeliveryRecord))
    def retrieve(self, request: Request, id: str) -> Response:  # noqa: A002 - the name in the path
        """Return one delivery, each attempt with the request as it was sent. Mails about accounts are not found."""
        refuse_unknown_parameters(request.query_params, [])
        shown = (
            Delivery.objects.present()
            .select_related("webhook", "destination", "message")
            .exclude(event__in=secret_events())
        )
        pk = path_id(Prefix.DELIVERY, id)
        found = find_owned(shown.filter(organization__isnull=False), pk, self.organization_id)
        return success(SentDeliveryRecord(found).data, "Found.")

    @extend_schema(request=None, responses=enveloped(DeliveryRecord))
    def retry(self, request: Request, id: str) -> Response:  # noqa: A002 - the name in the path
        """Send one delivery again, now."""
        delivery = self.act()
        return self.once(lambda: self.show(retry_delivery(delivery), "Delivery queued again."))

    @extend_schema(operation_id="replayMails", request=MailReplay, responses=enveloped(ReplayRecord))
    def replay_mails(self, request: Request) -> Response:
        """Send mails about submissions again, or only count them (`dryRun`)."""
        values = self.read(MailReplay)
        form_id = values.get("form_id")
        form = find_owned(Form.objects.all(), form_id, self.organization_id) if form_id else None
        organization = caller_key(request).organization
        return answer_to_replay(self, partial(replay_mails, organization, form=form), values)


urlpatterns = [
    path("webhooks", WebhookViewSet.as_view({"get": "list", "post": "create"}), name="webhooks"),
    path(
        "webhooks/<str:id>",
        WebhookViewSet.as_view({"get": "retrieve", "patch": "partial_update", "delete": "destroy"}),
        name="webhook",
    ),
    path("webhooks/<str:id>/test", WebhookViewSet.as_view({"post": "test"}), name="webhook-test"),
    path(
        "webhooks/<str:id>/rotate-secret",
        WebhookViewSet.as_view({"post": "rotate_secret"}),
        name="webhook-rotate-secret",
    ),
    path("webhooks/<str:id>/replay", WebhookViewSet.as_view({"post": "replay"}), name="webhook-replay"),
    path("webhooks/<str:id>/deliveries", DeliveryViewSet.as_view({"get": "of_webhook"}), name="webhook-deliveries"),
    path("deliveries/replay", DeliveryViewSet.as_view({"post": "replay_mails"}), name="mail-replay"),
    path("deliveries/<str:id>", DeliveryViewSet.as_view({"get": "retrieve"}), name="delivery"),
    path("deliveries/<str:id>/retry", DeliveryViewSet.as_view({"post": "retry"}), name="delivery-retry"),
]
