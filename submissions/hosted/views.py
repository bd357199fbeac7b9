"""
`/f/{formId}`: a form's own page, and where plain HTML forms of any page post to, without script or key.

The gates are those of `/api/submit` without a key: the form says whose hour is used. Browsers get pages and redirects,
who asks for JSON gets JSON (CONTRACT section 6).
"""

import hashlib
import time
from typing import Any, NoReturn

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from config.api import ratelimit
from config.api.errors import ApiError, MethodNotAllowed, NotFound, as_api_error
from config.api.find_owned import path_id
from config.api.parsing import read_body
from config.ids import Prefix
from config.nudge import DELIVER, nudge
from forms_app.models import Form
from submissions.hosted import pages, stamps
from submissions.hosted.answers import error_json, success_json, wants_json
from submissions.hosted.bodies import parse_form_body
from submissions.hosted.redirects import posting_page, redirect_target
from submissions.hosted.stamps import Stamp
from submissions.receiving.gates import Circumstances, accept, idempotency_key
from submissions.receiving.insert import Stored
from submissions.receiving.key_and_form import found_form
from submissions.receiving.page_limits import refuse_page
from submissions.receiving.parse_body import take_in
from submissions.receiving.proof_of_work import new_challenge
from submissions.refusals.recorder import note_refusal


@csrf_exempt  # anybody's page may post here, and no cookie is looked at
def hosted_form(request: HttpRequest, form_id: str) -> HttpResponse:
    """Show a form's page, or take what was posted to it."""
    if request.method == "POST":
        return HostedPost(request, form_id).answer()
    if request.method not in ("GET", "HEAD"):
        return error_json(MethodNotAllowed("Show the form with GET, submit with POST.", headers={"Allow": "GET, POST"}))
    form = _find(form_id)
    if form is None or form.status != Form.Status.PUBLISHED:
        return pages.closed(request)
    names = {field["name"] for field in form.fields}
    prefilled = {name: request.GET.getlist(name) for name in request.GET if name in names}
    return pages.form_page(request, form, typed=prefilled)


@csrf_exempt  # a POST is told 405 and not asked for a token
@require_safe
def thanks(request: HttpRequest, form_id: str) -> HttpResponse:
    """Show a form's words of thanks: where `next` of a JSON answer leads when nobody set an address."""
    form = _find(form_id)
    return pages.closed(request) if form is None else pages.thanks(request, form)


@csrf_exempt  # a POST is told 405 and not asked for a token
@require_safe
def challenge(request: HttpRequest) -> HttpResponse:
    """Hand out a proof-of-work challenge: `{parameters, signature}`, as ALTCHA's widget reads it too."""
    response = JsonResponse(new_challenge())
    response.headers["Cache-Control"] = "no-store"
    return response


def _find(form_id: str) -> Form | None:
    try:
        pk = path_id(Prefix.FORM, form_id)
    except ApiError:
        return None
    return Form.objects.select_related("organization").filter(pk=pk).first()


class HostedPost:
    """One post to a form: what was read of it, and how to answer."""

    def __init__(self, request: HttpRequest, form_id: str) -> None:
        self.request = request
        self.form_id = form_id
        self.form: Form | None = None
        self.raw_body = b""
        self.body: dict[str, Any] = {}
        self.body_error: ApiError | None = None
        self.stamp: Stamp | None = None

    def answer(self) -> HttpResponse:
        """Go through the gates in their order; the first that fails answers, with everything that was typed."""
        try:
            self._read_body()
            form = self._find_form()
            self._count(form)
            if self.body_error:
                raise self.body_error
            return self._succeed(form, self._store(form))
        except Exception as error:  # the same mapping as the API's
            failure = as_api_error(error)
            if self.form:
                note_refusal(self.request, failure, organization_id=self.form.organization_id, form_id=self.form.pk)
            if wants_json(self.request):
                return error_json(failure)
            return pages.problem(self.request, self.form, failure, typed=self.body, stamp=self._stamp_of_correction())

    def _read_body(self) -> None:
        try:
            self.raw_body = read_body(self.request)
            self.body = parse_form_body(self.request, self.raw_body)
        except ApiError as error:
            self.body_error = error

    def _find_form(self) -> Form:
        form = _find(self.form_id)
        if form is None:
            self._refuse_at_address(NotFound("There is no form with this address."))
        self.form = form
        self.stamp = stamps.read(self.form_id, self.request.GET.get(stamps.PARAMETER, ""))
        return form

    def _count(self, form: Form) -> None:
        organization = form.organization
        refusal = refuse_page(self.request, found_form(form), organization_id=organization.pk, secret_key=False)
        if refusal:
            self._refuse_at_address(refusal)
        usage = ratelimit.count_organization(self.request, str(organization.pk), organization.hourly_limit)
        if usage.is_over:
            raise usage.refusal()

    def _refuse_at_address(self, refusal: ApiError) -> NoReturn:
        usage = ratelimit.count_address(self.request)
        if usage.is_over:
            refusal = usage.refusal()
            refusal.reason = "address"  # not the plan's hour
        raise refusal

    def _store(self, form: Form) -> Stored:
        opened_for = time.time() - self.stamp.at if self.stamp else None
        came = Circumstances(self.request, self.raw_body, self._key(), is_from_page=True, opened_for=opened_for)
        stored = accept(found_form(form), take_in(self.body), came)
        nudge(DELIVER)
        return stored

    def _key(self) -> str | None:
        """A page of ours that is sent twice unchanged (a double click, a reload) is one submission."""
        key = idempotency_key(self.request)
        if key is None and self.stamp:
            key = f"page-{hashlib.sha256(self.stamp.text.encode() + self.raw_body).hexdigest()}"
        return key

    def _stamp_of_correction(self) -> str:
        """The page is not new to its visitor: mending a typo is quick."""
        opened_at = self.stamp.at if self.stamp else 0
        return stamps.make(self.form_id, opened_at=opened_at, next_page=self._next_page()) if self.form else ""

    def _next_page(self) -> str:
        """Where to go after success; "" for the words of thanks."""
        if self.form is None:
            return ""
        try:
            intake = take_in(self.body)
        except ApiError:
            return ""
        page = posting_page(
            origin=self.request.META.get("HTTP_ORIGIN"),
            referer=self.request.META.get("HTTP_REFERER", ""),
            own_page=self.form.url,
        )
        default = (self.stamp and self.stamp.next_page) or self.form.redirect_url
        allowed = self.form.allowed_origins
        return redirect_target(intake.controls, intake.values, page=page, allowed_origins=allowed, default=default)

    def _succeed(self, form: Form, stored: Stored) -> HttpResponse:
        target = self._next_page()
        if wants_json(self.request):
            return success_json(stored, found_form(form), next_page=target or f"{form.url}/thanks")
        if target:
            response = HttpResponseRedirect(target)
            response.status_code = 303  # the next page is fetched with GET, whatever this was (RFC 9110, 15.4.4)
            return response
        return pages.thanks(self.request, form, message=stored.message)
