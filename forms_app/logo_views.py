"""`/api/forms/{id}/logo`: the bytes of a picture, or none."""

from django.urls import path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from config.api.parsing import read_bytes
from config.api.schema import enveloped
from forms_app.document.records import FormRecord
from forms_app.logos import remove_form_logo, set_form_logo
from forms_app.views import ShowsForms
from keys.branding.logos import MAX_UPLOAD_BYTES
from keys.models import Permission

TOO_LARGE = "The logo is larger than 1 MB. Save it smaller, then send it again."


class FormLogoViewSet(ShowsForms):
    """Sets and removes the logo of a form."""

    permission_for = dict.fromkeys(("put_logo", "delete_logo"), Permission.FORMS_WRITE)

    @extend_schema(
        operation_id="setFormLogo",
        summary="Set the logo of a form",
        request={"application/octet-stream": OpenApiTypes.BINARY},
        responses=enveloped(FormRecord),
    )
    def put_logo(self, request: Request, id: str) -> Response:  # noqa: A002, ARG002 - the name in the path
        """Show a picture on the form's pages and in mails to its submitters: a PNG, JPEG, WebP or GIF up to 1 MB."""
        data = read_bytes(request._request, most=MAX_UPLOAD_BYTES, too_large=TOO_LARGE)
        return self.show_form(set_form_logo(self.find(), data), "Logo set.")

    @extend_schema(
        operation_id="removeFormLogo",
        summary="Remove the logo of a form",
        request=None,
        responses={200: enveloped(FormRecord)},
    )
    def delete_logo(self, request: Request, id: str) -> Response:  # noqa: A002, ARG002 - the name in the path
        """Show the organization's logo again."""
        return self.show_form(remove_form_logo(self.act()), "Logo removed.")


urlpatterns = [
    path(
        "forms/<str:id>/logo", FormLogoViewSet.as_view({"put": "put_logo", "delete": "delete_logo"}), name="form-logo"
    ),
]
