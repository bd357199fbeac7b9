"""`/api/deliveries`, and the logs of webhooks, destinations and submissions."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import django_filters
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from config.api.errors import NotFound, Unauthorized
from config.api.filters import refuse_unknown_parameters
from config.api.find_owned import find_owned, path_id
from config.api.schema import enveloped
from config.api.views import KeyedViewSet, success
from config.base.ids import Prefix
from forms_app.models import Form
from keys.authentication import caller_key
from keys.idempotency import Repeatable
from keys.models import Permission
from submissions.models import Submission
from webhooks.log_queries import load_answers, newest_attempts
from webhooks.models import Delivery, Receiver
from webhooks.replays import replay_mails, retry_delivery
from webhooks.serializers import (
    REPLAYABLE,
    DeliveryRecord,
    MailReplay,
    ReplayRecord,
    SentDeliveryRecord,
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


class DeliveryFilters(django_filters.FilterSet):
    status = django_filters.ChoiceFilter(choices=Delivery.Status.choices, empty_label=None)


class DeliveryViewSet(Repeatable, KeyedViewSet):
    """The delivery log of a receiver, one delivery with its requests, and retrying one."""

    id_prefix = Prefix.DELIVERY
    queryset = (
        Delivery.objects.select_related("receiver", "message")
        .defer("message__body", "receiver__config")
        .prefetch_related(newest_attempts())
        .order_by("-id")
    )
    serializer_class = DeliveryRecord
    filterset_class = DeliveryFilters
    resource = "webhooks"
    list_actions: ClassVar[tuple[str, ...]] = ("of_webhook", "of_destination")
    permission_for = dict.fromkeys((*list_actions, "retrieve", "retry", "replay_mails"), WRITE)
    test_actions = ("retrieve",)

    def get_queryset(self) -> Any:
        """Return the deliveries of the receiver in the path. Raises as `find_owned` does."""
        queryset = self.queryset.all()
        if getattr(self, "swagger_fake_view", False):
            return queryset.none()
        of_webhook = self.action == "of_webhook"
        receivers = Receiver.objects.webhooks() if of_webhook else Receiver.objects.destinations()
        pk = path_id(Prefix.WEBHOOK if of_webhook else Prefix.DESTINATION, self.kwargs["id"])
        return queryset.filter(receiver=find_owned(receivers, pk, self.organization_id))

    def find(self) -> Any:
        """Return the delivery of the path. One of a receiver that is being deleted is not found."""
        found = super().find()
        if found.receiver is not None and found.receiver.deleted_at:
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

    @extend_schema(operation_id="listDestinationDeliveries", tags=["Deliveries"])
    def of_destination(self, request: Request, id: str) -> Response:  # noqa: A002 - the name in the path
        """Return a page of a destination's deliveries with their newest attempts, newest first."""
        return self.list(request)

    @extend_schema(responses=enveloped(SentDeliveryRecord))
    def retrieve(self, request: Request, id: str) -> Response:  # noqa: A002 - the name in the path
        """Return one delivery, each attempt with the request as it was sent. Mails about accounts are not found."""
        refuse_unknown_parameters(request.query_params, [])
        shown = Delivery.objects.present().select_related("receiver", "message", "submission").readable()
        pk = path_id(Prefix.DELIVERY, id)
        found = find_owned(shown.filter(organization__isnull=False), pk, self.organization_id)
        if caller_key(request).is_test and not (found.submission and found.submission.is_test):
            raise Unauthorized
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


class SubmissionDeliveryViewSet(DeliveryViewSet):
    """The deliveries of one submission."""

    resource = "submissions"
    list_actions: ClassVar[tuple[str, ...]] = ("of_submission",)
    permission_for = {"of_submission": WRITE}
    test_actions = ("of_submission",)

    def get_queryset(self) -> Any:
        """Return the deliveries of the submission in the path, without codes and links that are keys."""
        queryset = self.queryset.all()
        if getattr(self, "swagger_fake_view", False):
            return queryset.none()
        pk = path_id(Prefix.SUBMISSION, self.kwargs["id"])
        rows = Submission.objects.shown(self.organization_id).only("organization", "counted_as")
        submission = find_owned(rows, pk, self.organization_id)
        if caller_key(self.request).is_test and not submission.is_test:
            raise Unauthorized
        return queryset.present().filter(submission=submission).readable()

    @extend_schema(operation_id="listSubmissionDeliveries", tags=["Deliveries"])
    def of_submission(self, request: Request, id: str) -> Response:  # noqa: A002 - the name in the path
        """Return a page of a submission's deliveries, mails too, with their newest attempts, newest first."""
        return self.list(request)


urlpatterns = [
    path("webhooks/<str:id>/deliveries", DeliveryViewSet.as_view({"get": "of_webhook"}), name="webhook-deliveries"),
    path(
        "destinations/<str:id>/deliveries",
        DeliveryViewSet.as_view({"get": "of_destination"}),
        name="destination-deliveries",
    ),
    path(
        "submissions/<str:id>/deliveries",
        SubmissionDeliveryViewSet.as_view({"get": "of_submission"}),
        name="submission-deliveries",
    ),
    path("deliveries/replay", DeliveryViewSet.as_view({"post": "replay_mails"}), name="mail-replay"),
    path("deliveries/<str:id>", DeliveryViewSet.as_view({"get": "retrieve"}), name="delivery"),
    path("deliveries/<str:id>/retry", DeliveryViewSet.as_view({"post": "retry"}), name="delivery-retry"),
]
