"""`/api/forms`: create, read, list, change, publish, unpublish, archive; a form as a document."""

from collections.abc import Callable
from functools import partial
from typing import Any

import django_filters
from django.db import transaction
from django.db.models import QuerySet
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from config.api.etags import refuse_unmet
from config.api.filters import refuse_unknown_parameters
from config.api.find_owned import still_there
from config.api.schema import enveloped
from config.api.serializers import QuerySerializer
from config.api.views import KeyedViewSet, deleted, success
from config.base.ids import Prefix
from forms_app.actions import archive_form, change_form, create_form, publish_form, unpublish_form
from forms_app.addresses import check_key
from forms_app.consent.recipients import standings_of
from forms_app.document.bodies import FormChanges, NewForm, NewFormDocument
from forms_app.document.by_key import ask_added, find_by_key, put_form
from forms_app.document.permissions import hidden_from, refuse_unpermitted
from forms_app.document.records import FormDocument, FormPut, FormRecord, document_of, etag_of_form
from forms_app.models import Form
from keys.authentication import caller_key
from keys.idempotency import Repeatable
from keys.models import Permission

EVERY_STATUS = "all"


class FormFilters(django_filters.FilterSet):
    """`?status=`: archived forms are listed only on request."""

    status = django_filters.ChoiceFilter(
        choices=[*Form.Status.choices, (EVERY_STATUS, "All")], method="by_status", empty_label=None
    )

    class Meta:
        model = Form
        fields: list[str] = []

    def by_status(self, queryset: QuerySet[Form], name: str, value: str) -> QuerySet[Form]:
        return queryset if value == EVERY_STATUS else queryset.filter(status=value)

    def filter_queryset(self, queryset: QuerySet[Form]) -> QuerySet[Form]:
        if not self.form.cleaned_data["status"]:
            queryset = queryset.exclude(status=Form.Status.ARCHIVED)
        filtered: QuerySet[Form] = super().filter_queryset(queryset)
        return filtered


class ShowsForms(KeyedViewSet):
    """Answers with records of forms, as far as the caller's key may see them."""

    id_prefix = Prefix.FORM
    queryset = Form.objects.with_submission_count().order_by("-id")
    serializer_class = FormRecord
    resource = "forms"

    def get_serializer(self, *args: Any, **kwargs: Any) -> Any:
        """Return the serializer of a form, or of several, whose recipients it reads together."""
        if args:
            hides = hidden_from(caller_key(self.request))
            forms = [form for form in (args[0] if kwargs.get("many") else [args[0]]) if form.notification_recipients]
            known = standings_of(forms) if forms and not hides else {}
            kwargs["context"] = {**self.get_serializer_context(), "hides": hides, "standings": known}
        return super().get_serializer(*args, **kwargs)

    def show_form(self, form: Form, message: str, *, status: int = 200) -> Response:
        return self.show(Form.objects.with_submission_count().get(pk=form.pk), message, status=status)


class FormViewSet(Repeatable, ShowsForms):
    filterset_class = FormFilters
    permission_for = {
        "list": Permission.FORMS_READ,
        "retrieve": Permission.FORMS_READ,
        **dict.fromkeys(("create", "partial_update", "destroy", "publish", "unpublish"), Permission.FORMS_WRITE),
    }
    test_actions = ("list", "retrieve")

    def once(self, act: Callable[[], Response], **options: Any) -> Response:
        """Return the answer, or an earlier one: without what this key may not see, which that one could."""
        answer = super().once(act, **options)
        for name in hidden_from(caller_key(self.request)):
            answer.data["data"].pop(name, None)
        return answer

    @extend_schema(request=NewForm, responses={201: enveloped(FormRecord)})
    def create(self, request: Request) -> Response:
        """Create a form, by default as a draft."""
        values, key = self.read(NewForm), caller_key(request)
        refuse_unpermitted(Form(organization=key.organization), values, hidden_from(key))

        def make() -> Response:
            with transaction.atomic():
                form = create_form(organization=key.organization, **values)
                ask_added(form, [])
            return self.show_form(form, "Form created.", status=201)

        return self.once(make)

    @extend_schema(request=FormChanges, responses=enveloped(FormRecord))
    def partial_update(self, request: Request, id: str) -> Response:  # noqa: A002 - the name in the path
        """Change a form."""
        values, form = self.read(FormChanges), self.find()
        with transaction.atomic():
            stored = still_there(Form.objects.select_for_update(no_key=True), form.pk)
            refuse_unpermitted(stored, values, hidden_from(caller_key(request)))
            changed = change_form(stored, **values)
            ask_added(changed, stored.notification_recipients)
        return self.show_form(changed, "Form changed.")

    @extend_schema(request=None, responses=enveloped(FormRecord))
    def publish(self, request: Request, id: str) -> Response:  # noqa: A002 - the name in the path
        """Publish a form, so that it accepts submissions."""
        form = self.act()
        return self.once(lambda: self.show_form(publish_form(form), "Form published."))

    @extend_schema(request=None, responses=enveloped(FormRecord))
    def unpublish(self, request: Request, id: str) -> Response:  # noqa: A002 - the name in the path
        """Make a published form a draft again."""
        form = self.act()
        return self.once(lambda: self.show_form(unpublish_form(form), "Form unpublished."))

    @extend_schema(operation_id="archiveForm")
    def destroy(self, request: Request, id: str) -> Response:  # noqa: A002 - the name in the path
        """Archive a form; its submissions stay readable and exportable."""
        form: Form = self.act()
        archive_form(form)
        return deleted(Prefix.FORM, form.pk, "Form archived. Its submissions are kept.")


class DryRun(QuerySerializer):
    """Whether a document is only tried."""

    dryRun = serializers.ChoiceField(
        ["true", "false"], required=False, help_text="`true`: every check is made, and nothing is changed."
    )


class FormByKeyViewSet(ShowsForms):
    """A form as a document, by the key that the caller gave it."""

    @property
    def permission_for(self) -> dict[str, str]:
        """The permissions: trying a document changes nothing."""
        is_dry = self.request.query_params.get("dryRun") == "true"
        return {
            "retrieve": Permission.FORMS_READ,
            "replace": Permission.FORMS_READ if is_dry else Permission.FORMS_WRITE,
        }

    test_actions = ("retrieve",)

    @property
    def query_serializer(self) -> type[QuerySerializer]:
        return DryRun if self.action == "replace" else QuerySerializer

    @extend_schema(operation_id="getFormDocument", responses=enveloped(FormDocument))
    def retrieve(self, request: Request, key: str) -> Response:
        """Return a form as a document: whole, and without what the service decides. Its ETag is for `If-Match`."""
        refuse_unknown_parameters(request.query_params, [])
        check_key(key)
        form = find_by_key(caller_key(request).organization, key)
        document = document_of(form, hides=hidden_from(caller_key(request)))
        return success(document, "Found.", headers={"ETag": etag_of_form(form)})

    @extend_schema(
        operation_id="putFormDocument",
        request=NewFormDocument,
        parameters=[DryRun],
        responses={200: FormPut, 201: enveloped(FormRecord)},
    )
    def replace(self, request: Request, key: str) -> Response:
        """
        Make the form with this key exactly what the document says, or create it.

        With `dryRun=true` nothing is changed: `data` is `{changes: [{path, from, to}], document}`.
        """
        values = self.read(NewFormDocument, parameters=self.query_parameters, key=key)
        is_dry = self.query(DryRun).get("dryRun") == "true"
        check_key(key)
        caller = caller_key(request)
        precondition = partial(refuse_unmet, request._request)
        put = put_form(
            caller.organization, key, values, hides=hidden_from(caller), precondition=precondition, is_dry=is_dry
        )
        if is_dry:
            changes = [{"path": path, "from": old, "to": new} for path, old, new in put.changes]
            return success({"changes": changes, "document": put.document}, "Nothing is changed: this was a dry run.")
        if put.is_new:
            answer = self.show_form(put.form, "Form created.", status=201)
            answer.headers["Location"] = f"/api/forms/{put.form.public_id}"
        else:
            answer = self.show_form(put.form, "Form changed." if put.changes else "Nothing to change.")
        answer.headers["ETag"] = put.etag
        return answer


urlpatterns = [
    # First: `publish` is a key like any other.
    path("forms/by-key/<str:key>", FormByKeyViewSet.as_view({"get": "retrieve", "put": "replace"}), name="form-by-key"),
    path("forms", FormViewSet.as_view({"get": "list", "post": "create"}), name="forms"),
    path(
        "forms/<str:id>",
        FormViewSet.as_view({"get": "retrieve", "patch": "partial_update", "delete": "destroy"}),
        name="form",
    ),
    path("forms/<str:id>/publish", FormViewSet.as_view({"post": "publish"}), name="form-publish"),
    path("forms/<str:id>/unpublish", FormViewSet.as_view({"post": "unpublish"}), name="form-unpublish"),
]
