"""`/api/submissions/import` and `/api/submissions/imports/{id}`: bring old submissions, and take them back."""

from typing import Any

from django.urls import path
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from config.api.errors import ValidationFailed
from config.api.fields import PublicIdField
from config.api.find_owned import find_owned
from config.api.long_requests import hold_place
from config.api.parsing import BodySize, NumberText
from config.api.schema import enveloped, ruled
from config.api.serializers import FlagField, IdField, QuerySerializer, StrictSerializer, TextField
from config.api.views import KeyedViewSet, success
from config.base.ids import Prefix, encode_id
from forms_app.models import Form
from keys.idempotency import Repeatable
from keys.models import Permission
from submissions.importing.rows import MAX_ROWS, MAX_SOURCE, MAX_SOURCE_ID
from submissions.importing.store import Outcome, import_rows
from submissions.importing.undo import undo_import
from submissions.models import Import

SIZE = BodySize(8 * 1024 * 1024, "The body is larger than 8 MiB. Send fewer rows at a time.")


class ImportQuery(QuerySerializer):
    """The form that takes the rows."""

    texts = {"formId": "The form that takes the rows."}
    formId = IdField(Prefix.FORM)


@extend_schema_field(
    {
        "type": "object",
        "required": ["createdAt", "data"],
        "additionalProperties": False,
        "properties": {
            "createdAt": {
                "type": "string",
                "format": "date-time",
                "description": "When it was submitted, with an offset; from 1970 on, and not in the future.",
            },
            "data": {
                "type": "object",
                "additionalProperties": True,
                "minProperties": 1,
                "description": "The submitted values by field name.",
            },
            "spam": {"type": "boolean", "default": False, "description": "Whether it was spam there."},
            "sourceId": {
                "type": "string",
                "minLength": 1,
                "maxLength": MAX_SOURCE_ID,
                "description": "Its id there, by which it is known again.",
            },
        },
    }
)
class RowField(serializers.Field[Any, Any, Any, Any]):
    """A row as it came: what is wrong with it is a problem of that row, and no error of the request."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"allow_null": True, **kwargs})

    def to_internal_value(self, data: Any) -> Any:
        return data


class RowsField(serializers.ListField):
    """1 to MAX_ROWS rows. A longer list is refused before its members are read."""

    default_error_messages = {"max_length": f"Ensure this field has no more than {MAX_ROWS} elements."}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(child=RowField(), allow_empty=False, **kwargs)

    def to_internal_value(self, data: Any) -> list[Any]:
        if isinstance(data, list) and len(data) > MAX_ROWS:
            self.fail("max_length")
        rows: list[Any] = super().to_internal_value(data)
        return rows


@ruled(properties={"rows": {"maxItems": MAX_ROWS}})
class ImportBody(StrictSerializer):
    """Old submissions of a form."""

    schema_name = "NewImport"
    texts = {
        "source": "Where they come from, such as `formspree`.",
        "rows": "The submissions. Each is taken whole or not at all.",
        "importId": "The import that an earlier call began, to go on with it.",
        "dryRun": "Only say what would happen.",
    }
    source = TextField(max_length=MAX_SOURCE)  # type: ignore[assignment]  # hides .source, unused here
    rows = RowsField()
    importId = IdField(Prefix.IMPORT, required=False)
    dryRun = FlagField(default=False)

    def to_internal_value(self, data: Any) -> Any:
        """Read the body's own numbers as such: those of rows stay the text that is stored."""
        if isinstance(data, dict):
            data = {name: float(value) if isinstance(value, NumberText) else value for name, value in data.items()}
        return super().to_internal_value(data)


class ProblemRecord(serializers.Serializer[Any]):
    """Why a row was not imported."""

    schema_name = "ImportProblem"
    texts = {
        "row": "The place of the row in the request, from 0.",
        "field": "What is wrong in it, such as `createdAt` or `data.email`; empty for the whole row.",
        "code": "A code of `details`.",
        "message": "What to do about it.",
    }
    row = serializers.IntegerField(min_value=0)
    field = serializers.CharField(allow_blank=True)
    code = serializers.CharField()
    message = serializers.CharField()


class ImportRecord(serializers.Serializer[Any]):
    """The outcome of an import."""

    schema_name = "ImportResult"
    texts = {
        "importId": "The import, to go on with it or to undo it. Null: a dry run.",
        "imported": "How many rows are submissions now.",
        "skipped": "How many the form had imported before.",
        "problems": "Why the others were not imported.",
    }
    importId = PublicIdField(Prefix.IMPORT, allow_null=True)
    imported = serializers.IntegerField(min_value=0)
    skipped = serializers.IntegerField(min_value=0)
    problems = ProblemRecord(many=True)


class UndoneRecord(serializers.Serializer[Any]):
    """An import that was undone."""

    schema_name = "UndoneImport"
    texts = {
        "id": "The import.",
        "deleted": "Always true.",
        "submissions": "How many submissions are gone by that; 0 if it had been undone before.",
    }
    id = PublicIdField(Prefix.IMPORT)
    deleted = serializers.BooleanField()
    submissions = serializers.IntegerField(min_value=0)


class ImportViewSet(Repeatable, KeyedViewSet):
    """Imports into the caller's forms."""

    id_prefix = Prefix.IMPORT
    queryset = Import.objects.all()
    serializer_class = ImportRecord
    extra_query = ImportQuery
    resource = "submissions"
    permission_for = dict.fromkeys(("create", "destroy"), Permission.FORMS_WRITE)

    @property
    def query_serializer(self) -> type[QuerySerializer]:
        """The parameters of an import; undoing has none."""
        return ImportQuery if self.action == "create" else QuerySerializer

    @extend_schema(
        operation_id="importSubmissions",
        summary="Import submissions",
        request=ImportBody,
        parameters=[ImportQuery],
        responses={200: enveloped(ImportRecord)},
    )
    def create(self, request: Request) -> Response:
        """Bring up to 500 old submissions into a form: each once, with its own time, and nothing is delivered."""
        hold_place(request._request)
        wanted = self._read()
        form = find_owned(Form.objects.all(), self.query(ImportQuery)["formId"], self.organization_id)
        named = wanted.get("importId")
        earlier = find_owned(self.queryset.all(), named, self.organization_id) if named else None
        return self.once(
            lambda: _answer(
                import_rows(form, wanted["rows"], source=wanted["source"], earlier=earlier, is_dry=wanted["dryRun"])
            )
        )

    def _read(self) -> dict[str, Any]:
        """Return the body. Raises its errors together with those of the query."""
        problems = list(self.parameter_problems())
        try:
            wanted = self.read(ImportBody, parameters=self.query_parameters, size=SIZE)
        except ValidationFailed as error:
            raise ValidationFailed([*problems, *error.details]) from None
        if problems:
            raise ValidationFailed(problems)
        return wanted

    @extend_schema(
        operation_id="undoImport", summary="Undo an import", request=None, responses={200: enveloped(UndoneRecord)}
    )
    def destroy(self, request: Request, id: str) -> Response:  # noqa: A002 - the name in the path
        """Delete what an import brought, within 24 hours of its last call. Its rows can be imported again."""
        batch = self.act()
        number = undo_import(batch)
        record = {"id": encode_id(Prefix.IMPORT, batch.pk), "deleted": True, "submissions": number}
        return success(record, "Import undone.")


def _answer(outcome: Outcome) -> Response:
    refused = len({problem.row for problem in outcome.problems})
    record = {
        "importId": encode_id(Prefix.IMPORT, outcome.import_id) if outcome.import_id else None,
        "imported": outcome.imported,
        "skipped": outcome.skipped,
        "problems": [
            {"row": one.row, "field": one.field, "code": one.code, "message": one.message} for one in outcome.problems
        ],
    }
    begin = "Imported" if outcome.import_id else "Only tried: imported"
    return success(record, f"{begin} {outcome.imported:,}, skipped {outcome.skipped:,}, refused {refused:,}.")


urlpatterns = [
    path("submissions/import", ImportViewSet.as_view({"post": "create"}), name="submissions-import"),
    path("submissions/imports/<str:id>", ImportViewSet.as_view({"delete": "destroy"}), name="submissions-import-undo"),
]
