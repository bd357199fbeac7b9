"""Every URL. Paths of the API have no trailing slash and no version (docs/contract.md 1)."""

from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path, re_path

from config.api.openapi.view import OpenApiDocument
from config.api.views import UnknownPath
from config.health import healthz, readyz
from config.pages import security_txt
from config.pages.api_docs import ApiDocs
from config.pages.documents import public_document
from dashboard.accounts.second_steps import require_second_step
from dashboard.frame.canonical_address import to_canonical
from dashboard.operators.site import arrange
from forms_app.document.json_schema import form_schema
from submissions.transfers.downloads import send_file
from submissions.transfers.uploads import HostedUpload

api: list[URLPattern | URLResolver] = [
    path("", include("submissions.receiving.api")),  # first: most requests are submissions
    path("", include("submissions.transfers.uploads")),
    path("", include("submissions.importing.views")),
    path("", include("submissions.views")),
    path("", include("submissions.reading.analytics")),
    path("", include("keys.views")),
    path("", include("forms_app.views")),
    path("", include("forms_app.logo_views")),
    path("", include("webhooks.views")),
    path("", include("webhooks.receivers.views")),
    path("schema", public_document(OpenApiDocument.as_view()), name="schema"),
    path("docs", ApiDocs.as_view(), name="docs"),
    re_path(r"^.*$", UnknownPath.as_view()),
]

# Operators log in like everyone else, with the second factor: https://docs.allauth.org/en/latest/common/admin.html
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]  # as its documentation says
require_second_step(admin.site)
operators = arrange(admin.site)

urlpatterns = [
    path("api/", include(api)),
    path("f/<str:form_id>/uploads", HostedUpload.as_view(), name="hosted-uploads"),
    path("f/", include("submissions.hosted.urls")),
    path("files/<str:file_id>", send_file, name="file"),
    path("", include("forms_app.script.urls")),
    path("form.schema.json", public_document(form_schema), name="form-schema"),
    path("healthz", healthz),
    path("readyz", readyz),
    path(security_txt.PATH, security_txt.security_txt, name="security-txt"),
    path("dashboard/", include("dashboard.urls")),
    path("setup", include("dashboard.pages.setup")),
    path("account/", include("dashboard.accounts.login_link")),  # before allauth's own, like the next
    path("account/", include("dashboard.accounts.device.urls")),
    path("account/", include("dashboard.accounts.oidc.urls")),
    path("account/", include("dashboard.accounts.passkey_login")),
    path("account/", include("dashboard.accounts.mailed_step_up")),
    path("account/", include("allauth.urls")),
    re_path(r"^(?:dashboard|account)(?:/.*)?$", to_canonical),
    path("admin/", include(operators)),
    path("admin/", admin.site.urls),
    path("mails/", include("dashboard.mail_pages")),
    path("demo/", include("dashboard.demo_page")),
    path("", include("dashboard.guides.urls")),
    path("", include("submissions.hosted.moved_urls")),  # the root, and the addresses of other form services
]

handler400 = "config.api.error_pages.bad_request"
handler403 = "config.api.error_pages.forbidden"
handler404 = "config.api.error_pages.not_found"
handler429 = "config.api.error_pages.too_many_requests"  # not Django's, allauth's
handler500 = "config.api.error_pages.internal_error"
