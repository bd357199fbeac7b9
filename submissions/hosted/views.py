"""
`/f/{formId}`: a form's own page, and where plain HTML forms of any page post to, without script or key.

The gates are those of `/api/submit`; the form in the URL takes the place of the key. Browsers get pages and redirects,
clients that ask for JSON get JSON (docs/contract.md 6).
"""

import dataclasses
import hashlib
import time
from functools import cached_property
from typing import Any, ClassVar

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from config.api.errors import ApiError, MethodNotAllowed, NotFound, QuotaExceeded, Suspended, not_found
from config.api.parsing import idempotency_key
from config.api.ratelimit import Usage
from forms_app.field_definitions import PAGE_CONTROL_FIELDS
from forms_app.models import Form
from submissions.hosted import pages, stamps
from submissions.hosted.answers import error_json, success_json, wants_json
from submissions.hosted.bodies import body_as_read, read_form_body
from submissions.hosted.find import SeeOther, find_form, new_address
from submissions.hosted.mode_keys import PARAMETER, find_test_key, kept_in_address, named_key
from submissions.hosted.page_texts import put_for_visitors
from submissions.hosted.redirects import posting_page, redirect_target
from submissions.hosted.stamps import Stamp
from submissions.receiving.gates import Candidate, Door
from submissions.receiving.insert import Stored
from submissions.receiving.key_and_form import Owner
from submissions.receiving.page_limits import is_allowed_page
from submissions.receiving.parse_body import NO_BODY, NOTHING, Body, Post, take_in
from submissions.receiving.proof_of_work import PURPOSE, new_challenge
from submissions.receiving.spam import SentTooFast


@csrf_exempt  # a POST answers 405 and is not asked for a token
@require_safe
def thanks(request: HttpRequest, form_id: str) -> HttpResponse:
    """Show a form's success message: plain posts without another next page lead here."""
    form = find_form(form_id)
    if moved := new_address(request, form, form_id, "hosted-thanks"):
        return moved
    if form is None:
        return pages.closed(request, None)
    return pages.unavailable(request, form) if form.is_unavailable else pages.thanks(request, form)


@csrf_exempt  # it stores nothing and reads no cookie
def unknown(request: HttpRequest) -> HttpResponse:
    """Return the 404 of every other path: a page to a browser."""
    if "text/html" in request.META.get("HTTP_ACCEPT", "") and not wants_json(request):
        return pages.closed(request, None)
    return not_found()


@csrf_exempt  # a POST answers 405 and is not asked for a token
@require_safe
def challenge(request: HttpRequest) -> HttpResponse:
    """Return a proof-of-work challenge for `?formId=`: `{parameters, signature}`, as ALTCHA's widget reads it too."""
    response = JsonResponse(new_challenge(request.GET.get(PURPOSE, "")))
    response.headers["Cache-Control"] = "no-store"
    return response


@method_decorator(csrf_exempt, name="dispatch")  # pages of any origin post here, and no cookie is read
class HostedForm(Door, View):
    """
    Shows a form's page, and takes posts to it.

    `page_controls`: the control fields of its posts. `is_always_json`: it answers nothing else.
    """

    http_method_names = ["get", "head", "post"]
    is_for_visitors = True
    post = Door.receive
    page_controls: ClassVar[frozenset[str]] = PAGE_CONTROL_FIELDS
    is_always_json = False

    def http_method_not_allowed(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        failure = MethodNotAllowed(headers={"Allow": "GET, POST"})
        put_for_visitors(failure, [])
        return error_json(failure)

    def get(self, request: HttpRequest, form_id: str) -> HttpResponse:
        """Show the form, filled in with the values that the query has for its fields."""
        form = self.form
        if moved := new_address(request, form, form_id, "hosted-form"):
            return moved
        if form is not None and form.is_unavailable:
            return pages.unavailable(request, form)
        if form is None or form.status != Form.Status.PUBLISHED:
            return pages.closed(request, form)
        names = {field["name"] for field in form.fields} - ({PARAMETER} if named_key(request) else set())
        prefilled = {name: request.GET.getlist(name) for name in request.GET if name in names}
        return pages.form_page(request, form, form_id, typed=prefilled)

    @cached_property
    def form(self) -> Form | None:
        """The form of the path."""
        return find_form(self.kwargs["form_id"])

    @cached_property
    def stamp(self) -> Stamp | None:
        """The stamp, if the post comes from the hosted page."""
        return stamps.read(self.kwargs["form_id"], self.request.GET.get(stamps.PARAMETER, ""))

    def read_post(self, request: HttpRequest) -> Post:
        """Return what the form body says; all that could be read of a body with a problem too."""
        body, intake, key = NO_BODY, NOTHING, None
        problem: ApiError | None = None
        try:
            body = read_form_body(request)
            intake = take_in(body.fields, page_controls=self.page_controls)
            key = idempotency_key(request) or self._key_of_page(body)
        except ApiError as error:
            problem = error
        opened_for = time.time() - self.stamp.at if self.stamp else None
        body = dataclasses.replace(body, raw=body.raw or body_as_read(request))
        return Post(request, body=body, intake=intake, idempotency_key=key, opened_for=opened_for, problem=problem)

    def _key_of_page(self, body: Body) -> str | None:
        """Return a key that makes the hosted page, sent twice unchanged (a double click, a reload), one submission."""
        if self.stamp is None:
            return None
        return f"page-{hashlib.sha256(self.stamp.text.encode() + (body.sha256.encode() or body.raw)).hexdigest()}"

    def find_owner(self, post: Post) -> Owner:
        """Return the organization of the form in the path. Raises NotFound."""
        form = self.form
        if form is None:
            raise NotFound
        key = find_test_key(self.request, form)
        return Owner(form.organization, form, key=key, may_wait=True, is_test=key is not None)

    def answer(self, candidate: Candidate, stored: Stored) -> HttpResponse:
        """Return a redirect to the next page, or the 201 as JSON."""
        form, post = candidate.own_form(), candidate.post
        target = self._next_page(post, form) or f"{form.url}/thanks"
        if self._wants_json(post):
            return success_json(stored, form, next_page=target)
        response = SeeOther(target)  # so that reloading the next page sends nothing
        # The thank-you page links back to the page that posted: its browser must say which one, at least its origin.
        response.headers["Referrer-Policy"] = "strict-origin-when-cross-origin"
        return response

    def refuse(self, post: Post, failure: ApiError, *, owner: Owner | None, usage: Usage | None) -> HttpResponse:
        """Return the form again, with the error and everything that was typed, or the error as JSON."""
        form = owner.form if owner else None
        if self._wants_json(post):
            put_for_visitors(failure, form.fields if form else [])  # in English, whatever the form's language
            return error_json(failure)
        if isinstance(failure, Suspended | QuotaExceeded):
            return pages.unavailable(post.request, form, status=failure.status, typed=post.body.fields)
        return pages.problem(
            post.request,
            form,
            failure,
            typed=post.body.fields,
            had_files=bool(post.body.files),
            action=self._action(post, form, failure) if form else "",
        )

    def _wants_json(self, post: Post) -> bool:
        return self.is_always_json or wants_json(post.request, post.body.raw)

    def _action(self, post: Post, form: Form, failure: ApiError) -> str:
        """Return where the form that is shown again posts to: the form's own address, with a stamp."""
        # The page is not new to its visitor: correcting a typo is quick. One that was too fast is asked for once.
        opened_at = self.stamp.at if self.stamp and not isinstance(failure, SentTooFast) else 0
        # The stamp is our word for the next page: a refused page has no say in it.
        is_allowed = is_allowed_page(post.request, form)
        next_page = self._next_page(post, form) if is_allowed else ""
        stamp = stamps.make(form.segment, opened_at=opened_at, next_page=next_page)
        own = reverse("hosted-form", args=[form.segment])
        return f"{'' if post.request.path == own else own}?{stamps.PARAMETER}={stamp}{kept_in_address(post.request)}"

    def _next_page(self, post: Post, form: Form) -> str:
        """Return where to go after success; "" for the thank-you page."""
        request, intake = post.request, post.intake
        page = posting_page(
            origin=request.META.get("HTTP_ORIGIN"), referer=request.META.get("HTTP_REFERER", ""), own_page=form.url
        )
        default = (self.stamp and self.stamp.next_page) or form.redirect_url
        allowed = form.allowed_origins
        return redirect_target(intake.controls, intake.values, page=page, allowed_origins=allowed, default=default)
