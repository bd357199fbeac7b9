"""`/f/{formId}/report`: a visitor reports a form to the operators. It works without scripts and sets no cookie."""

from django.http import HttpRequest, HttpResponse
from django.utils import translation
from django.utils.translation import gettext
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from config.api.errors import ValidationFailed
from config.api.ratelimit import count_burst
from config.base.client_address import client_address, client_network
from forms_app.consent.reports import report_form
from forms_app.models import Form
from submissions.hosted import pages
from submissions.hosted.find import find_form, new_address

REPORTS_PER_ADDRESS = "5/h"


@csrf_exempt  # no cookie is read, and a page of another origin gains nothing by it
@require_http_methods(["GET", "HEAD", "POST"])
def report(request: HttpRequest, form_id: str) -> HttpResponse:
    """Ask for the reason; store it with a POST."""
    form = find_form(form_id)
    if request.method != "POST" and (moved := new_address(request, form, form_id, "hosted-report")):
        return moved
    if form is None or form.status != Form.Status.PUBLISHED:
        return pages.closed(request, form)
    if request.method != "POST":
        return pages.report(request, form)
    with translation.override(form.language):
        return _take(request, form)


def _take(request: HttpRequest, form: Form) -> HttpResponse:
    reason = request.POST.get("reason", "")
    if count_burst(request, "report", client_network(request), REPORTS_PER_ADDRESS).is_over:
        limited = gettext("You have sent several reports. Try again in an hour.")
        return pages.report(request, form, reason=reason, problem=limited, status=429)
    try:
        report_form(form, reason, address=client_address(request))
    except ValidationFailed as failure:
        return pages.report(request, form, reason=reason, problem=failure.details[0].sentence, status=400)
    return pages.report(request, form, is_done=True)
