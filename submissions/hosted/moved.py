"""
The addresses of other form services, so that a site moves here by changing a host name (docs/moving.md).

They are `/f/{formId}` in other words: the same gates, pages and JSON. `/submit` takes a publishable key in the body in
the place of a form id, and the organization's default form unless the post has a form id too.
"""

import dataclasses
import json
import re
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.utils.decorators import method_decorator
from django.views.decorators.csrf import csrf_exempt
from django.views.generic import RedirectView

from config.api.errors import ApiError, InvalidAccessKey, NotFound
from config.api.parsing import read_body
from config.api.ratelimit import PUBLIC_PAGES, Usage, refuse_bursts
from config.base.client_address import client_network
from config.base.ids import Prefix
from forms_app.field_definitions import PAGE_CONTROL_FIELDS
from forms_app.models import Form
from keys import tokens
from keys.authentication import note_use_safely
from submissions.hosted import pages
from submissions.hosted.answers import error_json, wants_json
from submissions.hosted.bodies import parse_form_body
from submissions.hosted.find import new_address
from submissions.hosted.views import HostedForm
from submissions.receiving.gates import Candidate
from submissions.receiving.insert import Stored
from submissions.receiving.key_and_form import Owner, find_key_and_form
from submissions.receiving.parse_body import Post, named_form

# Web3Forms' name and its earlier one, StaticForms' name and its earlier one.
KEY_FIELDS = ("access_key", "apikey", "apiKey", "accessKey")
_ALIAS = re.compile(r"[0-9a-f]{32}")  # FormSubmit's, of a mail address
SECRET = "secret"  # noqa: S105 - the reason of a refusal


class OtherAddress(HostedForm):
    """A form at the address that another service would have given it."""

    def get(self, request: HttpRequest, form_id: str = "") -> HttpResponse:
        form = self.form
        if moved := new_address(request, form, form_id, "hosted-form"):
            return moved
        return HttpResponseRedirect(form.url) if form else pages.closed(request, None)


@method_decorator(csrf_exempt, name="dispatch")  # as of HostedForm
class RootAddress(OtherAddress):
    """`/{formId}` and `/ajax/{formId}`. An address in the place of the id may be any other path, too."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        segment = str(kwargs["form_id"])
        if self.form is None and not segment.startswith(f"{Prefix.FORM}_"):
            if self.is_always_json or _ALIAS.fullmatch(segment):
                return lost_form(request)
            raise Http404
        return super().dispatch(request, *args, **kwargs)


class FormcarryForm(OtherAddress):
    """`/s/{formId}`: its JSON has `code` and `status` too, which the scripts that Formcarry documents compare."""

    def answer(self, candidate: Candidate, stored: Stored) -> HttpResponse:
        return _with_code(super().answer(candidate, stored), 200, "success")

    def refuse(self, post: Post, failure: ApiError, *, owner: Owner | None, usage: Usage | None) -> HttpResponse:
        return _with_code(super().refuse(post, failure, owner=owner, usage=usage), failure.status, "error")


class FormByKey(OtherAddress):
    """`/submit`: the body has a publishable key; a form id in `?formId=` or `_formId` is optional."""

    page_controls = PAGE_CONTROL_FIELDS | set(KEY_FIELDS)
    form = None
    stamp = None  # no page of ours posts here

    def read_post(self, request: HttpRequest) -> Post:
        """Return what the body says, with its key."""
        post = super().read_post(request)
        token = next((text for name in KEY_FIELDS if isinstance(text := post.body.fields.get(name), str) and text), "")
        form_id, bad_id = named_form(request, post.body.fields)
        problem = post.problem or bad_id
        digest = tokens.digest(token) if tokens.is_well_formed(token) else ""
        return dataclasses.replace(post, key_digest=digest, key_in_body=token, form_id=form_id, problem=problem)

    def find_owner(self, post: Post) -> Owner:
        """Return the organization of the key. Raises InvalidAccessKey, also for a secret key: any visitor reads it."""
        if post.problem and not post.key_in_body:
            raise post.problem  # its body could not be read
        owner = find_key_and_form(post)
        key = owner.key
        if key and not key.is_publishable:
            if not key.was_in_page_recently:
                note_use_safely(key.id, from_browser=True)
            failure = InvalidAccessKey()
            failure.reason = SECRET
            raise failure
        record = Form.objects.select_related("organization").filter(pk=owner.form.pk).first() if owner.form else None
        return dataclasses.replace(owner, form=record, may_wait=True)


def _with_code(response: HttpResponse, code: int, status: str) -> HttpResponse:
    if response.headers["Content-Type"] == "application/json":
        response.content = json.dumps(json.loads(response.content) | {"code": code, "status": status})
    return response


@csrf_exempt  # it stores nothing and reads no cookie
def lost_form(request: HttpRequest, **_path: Any) -> HttpResponse:
    """Say that no form is at this address, and what to put there: a mail address of FormSubmit's, or its alias."""
    return _lost(request, example=f"{settings.PUBLIC_URL}/frm_…", has_mail_address=True)


@method_decorator(csrf_exempt, name="dispatch")
class Root(RedirectView):
    """`/`: the dashboard; and where forms post that another host handled by itself, as Netlify does."""

    pattern_name = "dashboard:home"

    def post(self, request: HttpRequest, *_args: Any, **_kwargs: Any) -> HttpResponse:
        """Say that no form is here, and what to put into the page. The body is not read: parsing it takes time."""
        return _lost(request, example=f"{settings.PUBLIC_URL}/f/frm_…", has_mail_address=False)


def _lost(request: HttpRequest, *, example: str, has_mail_address: bool) -> HttpResponse:
    raw_body, typed = b"", dict[str, Any]()
    if request.method == "POST":
        refusal = refuse_bursts(request, [("lost-posts", client_network(request), PUBLIC_PAGES)])
        if refusal:
            if wants_json(request):
                return error_json(refusal)
            return pages.problem(request, None, refusal, typed={}, action="")
    if request.method == "POST" and has_mail_address:  # the root has none: it gets whatever robots post
        try:
            raw_body = read_body(request)
            body = parse_form_body(request, raw_body)
            typed = body.fields
            for file in body.files:
                file.content.close()
        except ApiError:
            pass  # there is nothing to show
    if wants_json(request, raw_body):
        return error_json(
            NotFound(f"There is no form at this address. The owner of the site must change it to {example}")
        )
    return pages.lost(request, None, typed=typed, context={"example": example, "has_mail_address": has_mail_address})
