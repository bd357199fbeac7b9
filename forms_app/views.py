"""`/api/forms`: create, read, list, change, publish, unpublish, archive."""

import django_filters
from django.db.models import QuerySet
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from config.api.schema import enveloped
from config.api.views import KeyedViewSet, deleted
from config.base.ids import Prefix
from forms_app.actions import archive_form, change_form, create_form, publish_form, unpublish_form
from forms_app.models import Form
from forms_app.serializers import FormChanges, FormRecord, NewForm
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


class FormViewSet(Repeatable, KeyedViewSet):
    id_prefix = Prefix.FORM
    queryset = Form.objects.with_submission_count().order_by("-id")
    serializer_class = FormRecord
    filterset_class = FormFilters
    resource = "forms"
    permission_for = {
        "list": Permission.FORMS_READ,
        "retrieve": Permission.FORMS_READ,
        **dict.fromkeys(("create", "partial_update", "destroy", "publish", "unpublish"), Permission.FORMS_WRITE),
    }

    def show_form(self, form: Form, message: str, *, status: int = 200) -> Response:
        return self.show(Form.objects.with_submission_count().get(pk=form.pk), message, status=status)

    @extend_schema(request=NewForm, responses={201: enveloped(FormRecord)})
    def create(self, request: Request) -> Response:
        """Create a form, by default as a draft."""
        values = self.read(NewForm)
        organization = caller_key(request).organization
        return self.once(
            lambda: self.show_form(create_form(organization=organization, **values), "Form created.", status=201)
        )

    @extend_schema(request=FormChanges, responses=enveloped(FormRecord))
    def partial_update(self, request: Request, id: str) -> Response:  # noqa: A002 - the name in the path
        """Change a form."""
        values = self.read(FormChanges)
        return self.show_form(change_form(self.find(), **values), "Form changed.")

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


urlpatterns = [
    path("forms", FormViewSet.as_view({"get": "list", "post": "create"}), name="forms"),
    path(
        "forms/<str:id>",
        FormViewSet.as_view({"get": "retrieve", "patch": "partial_update", "delete": "destroy"}),
        name="form",
    ),
    path("forms/<str:id>/publish", FormViewSet.as_view({"post": "publish"}), name="form-publish"),
    path("forms/<str:id>/unpublish", FormViewSet.as_view({"post": "unpublish"}), name="form-unpublish"),
]
