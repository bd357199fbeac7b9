"""
The gates of a submission, in the one order in which they are tried; the first that fails answers (docs/contract.md 1).

Two doors lead here: `POST /api/submit` and plain posts (`POST /f/{formId}` and its like). A door says how to read a
post, whom it counts against (401 or 404 if nobody), and how to answer it. Then come `GATES` and `FORM_GATES`. A new
gate is a function and a line in `GATES`, or in `FORM_GATES` if a retry of a stored post may pass it.
"""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from django.conf import settings
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_noop

from config.api import ratelimit
from config.api.errors import (
    ApiError,
    EmptySubmission,
    FormNotPublished,
    MethodNotAllowed,
    NotFound,
    PayloadTooLarge,
    QuotaExceeded,
    RateLimited,
    Suspended,
    Unauthorized,
    ValidationFailed,
    as_api_error,
    logged_once,
)
from config.client_address import client_address
from config.ids import Prefix, encode_id
from config.nudge import DELIVER, nudge
from config.text import clean_text
from forms_app.field_kinds import FieldType
from forms_app.models import Form
from forms_app.validation import check_values
from keys.authentication import note_use_safely
from submissions.models import IdempotencyKey, Submission
from submissions.receiving import captchas, proof_of_work
from submissions.receiving.files import FilesOfPost, check_files
from submissions.receiving.insert import Stored, TooManyHeld, find_earlier, store
from submissions.receiving.key_and_form import Owner, SubmitForm
from submissions.receiving.once import Once
from submissions.receiving.page_limits import refuse_page
from submissions.receiving.parse_body import Post
from submissions.receiving.spam import spam_reasons
from submissions.refusals.recorder import note_refusal

HELD_HOURS = 10  # so many hours' requests of the plan are held at most
FORM_BLOCKED = gettext_noop(
    "The operator of this service has blocked this form. Its page in the dashboard shows the reason."
)
NOT_AVAILABLE = gettext_noop("This form is not available.")  # for visitors, who cannot change that
NOT_OPEN = gettext_noop("This form does not take submissions now.")  # likewise
MAX_META = {"userAgent": 512, "origin": 300, "referer": 2048}  # characters kept


@dataclasses.dataclass(frozen=True, slots=True)
class Candidate:
    """
    A post that becomes a submission if it passes every gate. A gate that learns something returns a new Candidate.

    `usage`: the organization's hour, once counted. `is_reserved`: counted there, to be given back unless it is stored
    and not spam. `waits`: to be stored as held. `doubts`: why it may be spam although no gate refused it. `is_human`:
    it has passed the form's captcha or proof of work. `files`: its files as gates have checked them, in the order of
    the form's fields; None: it has none.
    """

    post: Post
    owner: Owner
    usage: ratelimit.Usage | None = None
    is_reserved: bool = False
    waits: bool = False
    doubts: tuple[str, ...] = ()
    is_human: bool = False
    files: FilesOfPost | None = None

    @property
    def is_from_page(self) -> bool:
        """Whether this is a browser submission: to `/f/`, with a publishable key, or with an Origin."""
        key = self.owner.key
        if self.owner.is_member:
            return False
        return key is None or key.is_publishable or "HTTP_ORIGIN" in self.post.request.META

    @property
    def once(self) -> Once | None:
        """Its idempotency key, if it came with one."""
        post, key = self.post, self.owner.key
        if not post.idempotency_key:
            return None
        sender = IdempotencyKey.Sender.PAGE if key is None or key.is_publishable else IdempotencyKey.Sender.SECRET
        return Once(post.idempotency_key, sender, post.digest())

    def own_form(self) -> SubmitForm:
        """Return the form. Raises NotFound and, for another organization's form, Unauthorized."""
        if self.owner.form is not None:
            return self.owner.form
        raise Unauthorized if self.owner.form_is_foreign else NotFound("There is no form with this id.")


Gate = Callable[[Candidate], Candidate]  # or raises ApiError


class Door(ABC):
    """An endpoint that takes submissions. `is_for_visitors`: its texts are read by visitors of a page."""

    is_for_visitors: ClassVar[bool] = False

    @abstractmethod
    def read_post(self, request: HttpRequest) -> Post:
        """Return the content of a request. An error in its body is not raised: it becomes the post's `problem`."""

    @abstractmethod
    def find_owner(self, post: Post) -> Owner:
        """Return the owner of the key or form. Raises InvalidAccessKey or NotFound."""

    @abstractmethod
    def answer(self, candidate: Candidate, stored: Stored) -> HttpResponse:
        """Return the response to a stored submission, spam or not."""

    @abstractmethod
    def refuse(
        self, post: Post, failure: ApiError, *, owner: Owner | None, usage: ratelimit.Usage | None
    ) -> HttpResponse:
        """Return the response to a refused post. `usage`: the hour to show, if one is known."""

    def receive(self, request: HttpRequest, *_args: Any, **_kwargs: Any) -> HttpResponse:
        """Take a post through the gates, store it and answer."""
        post, candidate, stored = Post(request), None, None
        try:
            post = self.read_post(request)
            candidate = Candidate(post, self.find_owner(post))
            for gate in GATES:
                candidate = gate(candidate)
            stored = accept(candidate)
            nudge(DELIVER)
            settle(candidate, stored)
            return self.answer(candidate, stored)
        except Exception as error:  # the same mapping as DRF's handler, for the same reasons
            if candidate and stored:
                candidate = dataclasses.replace(candidate, is_reserved=False)
            failure = as_api_error(error)
            return logged_once(self._refuse(post, candidate, failure), failure)
        finally:
            for file in post.arrived:
                file.content.close()

    def _refuse(self, post: Post, candidate: Candidate | None, failure: ApiError) -> HttpResponse:
        """Answer a refusal, noted for the owner, and counted against the address unless it came from a server."""
        owner, usage = (candidate.owner, candidate.usage) if candidate else (None, None)
        if usage and candidate and candidate.is_reserved:
            usage = ratelimit.give_back(usage)
        if failure.status < 500 and not (usage and candidate and not candidate.is_from_page):
            address = ratelimit.count_address(post.request)
            usage = address if address.is_over else usage or address
            if address.is_over and not isinstance(failure, Suspended):  # which comes before every limit
                failure = address.refusal()
        if failure.status < 500:
            ratelimit.note_marks(usage)
        if isinstance(failure, RateLimited) and (self.is_for_visitors or _is_pages_hour(candidate, failure)):
            failure.message = ratelimit.BUSY
        note_refusal(
            post.request,
            failure,
            organization_id=owner.organization_id if owner else None,
            form_id=post.form_id if owner is None else owner.form_id,
            key_id=owner.key.id if owner and owner.key else None,
            shown_key=post.key_in_body,
        )
        return self.refuse(post, failure, owner=owner, usage=usage)


def _is_pages_hour(candidate: Candidate | None, failure: ApiError) -> bool:
    """Return whether a page was refused for the organization's hour: the sentence for servers names its numbers."""
    return candidate is not None and candidate.is_from_page and failure.reason == "hour"


def refuse_suspended(candidate: Candidate) -> Candidate:
    """Refuse everything for an organization that the operator has suspended, or a form that is blocked (403)."""
    form = candidate.owner.form
    is_blocked = form is not None and form.is_blocked
    if candidate.owner.is_suspended or is_blocked:
        raise Suspended(NOT_AVAILABLE if candidate.is_from_page else FORM_BLOCKED if is_blocked else "")
    return candidate


def limit_pages(candidate: Candidate) -> Candidate:
    """Refuse a browser submission from an origin that the form does not allow (403) or over a burst limit (429)."""
    refusal = refuse_page(candidate.post.request, candidate.owner) if candidate.is_from_page else None
    if refusal:
        raise refusal
    return candidate


def count_hour(candidate: Candidate) -> Candidate:
    """Count the request against the organization's hour: of browser submissions, as many as pages have room for."""
    owner = candidate.owner
    if not candidate.is_from_page:
        usage = ratelimit.count_organization(owner.organization_id, owner.hourly_limit)
        return dataclasses.replace(candidate, usage=usage)
    has_queue = owner.may_wait and owner.held_posts > 0  # first come, first served
    wanted = 0 if has_queue else 1
    reserved, usage = ratelimit.reserve_for_pages(owner.organization_id, owner.hourly_limit, wanted)
    usage = dataclasses.replace(usage, is_public=owner.key is None or owner.key.is_publishable)
    return dataclasses.replace(
        candidate, usage=usage, is_reserved=bool(reserved), waits=owner.may_wait and not reserved
    )


def limit_hour(candidate: Candidate) -> Candidate:
    """Refuse a request over the plan's hourly limit (429). Plain posts are held instead."""
    if candidate.usage and candidate.usage.is_over and not candidate.waits:
        raise candidate.usage.refusal()
    return candidate


def note_key_use(candidate: Candidate) -> Candidate:
    """Record, at most every ten minutes, that the key is in use, and whether a secret key is used in a page."""
    key = candidate.owner.key
    if key is not None:
        is_exposed = candidate.is_from_page and not key.is_publishable
        if not key.was_used_recently or (is_exposed and not key.was_in_page_recently):
            note_use_safely(key.id, from_browser=is_exposed)
    return candidate


def require_post(candidate: Candidate) -> Candidate:
    """Refuse other methods (405)."""
    if candidate.post.request.method != "POST":
        raise MethodNotAllowed("Submit with POST.", headers={"Allow": "POST, OPTIONS"})
    return candidate


def require_sound_body(candidate: Candidate) -> Candidate:
    """Refuse a body or header that could not be read: 413, 415, 400 invalid_json, 400 validation_error."""
    if problem := candidate.post.problem:
        raise problem
    return candidate


def require_own_form(candidate: Candidate) -> Candidate:
    """Refuse a form that does not exist (404) or belongs to another organization (403 unauthorized)."""
    candidate.own_form()
    return candidate


def keep_declared(candidate: Candidate) -> Candidate:
    """Take the fields that a plain post dropped as a framework's for data, where the form declares such names."""
    post, fields = candidate.post, candidate.own_form().fields
    declared = {field["name"] for field in fields} & post.intake.dropped.keys()
    if not declared:
        return candidate
    kept = {name: text for name, text in post.intake.dropped.items() if name in declared}
    intake = dataclasses.replace(post.intake, values=post.intake.values | kept)
    return dataclasses.replace(candidate, post=dataclasses.replace(post, intake=intake))


GATES: tuple[Gate, ...] = (
    refuse_suspended,
    limit_pages,
    count_hour,
    limit_hour,
    note_key_use,
    require_post,
    require_sound_body,
    require_own_form,
    keep_declared,
)


def require_room(candidate: Candidate) -> Candidate:
    """Refuse submissions to an organization whose stored bytes are used up (413)."""
    if candidate.owner.is_full:
        raise _full(candidate)
    return candidate


def _full(candidate: Candidate) -> QuotaExceeded:
    return QuotaExceeded(NOT_AVAILABLE if candidate.is_from_page else "")


def require_published(candidate: Candidate) -> Candidate:
    """Refuse submissions to drafts and archived forms (403)."""
    if candidate.own_form().status != Form.Status.PUBLISHED:
        raise FormNotPublished(NOT_OPEN if candidate.is_from_page else "")
    return candidate


def require_values(candidate: Candidate) -> Candidate:
    """Refuse a submission without values, or with values that do not fit the form's fields (400)."""
    intake, fields = candidate.post.intake, candidate.own_form().fields
    arrived = candidate.post.arrived
    if not intake.values and not arrived:
        raise EmptySubmission
    sent = {file.field for file in arrived} if arrived else ()
    problems = list(check_values(fields, intake.values, intake.lists, sent)) if fields else []
    if problems:
        raise ValidationFailed(problems)
    return candidate


def require_files(candidate: Candidate) -> Candidate:
    """
    Refuse files that do not fit the form's File fields (400, or 413 where there are none), or the storage (413).

    The names of the files become the fields' values.
    """
    post, fields = candidate.post, candidate.own_form().fields
    takes_files = any(field["type"] == FieldType.FILE for field in fields)
    if candidate.owner.is_member or not (takes_files or post.arrived):
        return candidate  # a member's test has names for examples
    if not takes_files and sum(file.size for file in post.arrived) > settings.MAX_BODY_BYTES:
        raise PayloadTooLarge
    files = check_files(fields, post.intake, post.arrived, form_id=candidate.own_form().id)
    if files.files and files.size > candidate.owner.room_for_files:
        raise _full(candidate)
    intake = dataclasses.replace(post.intake, values=post.intake.values | files.names)
    return dataclasses.replace(candidate, post=dataclasses.replace(post, intake=intake), files=files)


def require_human(candidate: Candidate) -> Candidate:
    """Refuse a browser submission without the proofs that the form requires: captcha, proof of work (400)."""
    if candidate.is_from_page:
        return _check_human(candidate)
    try:  # a server may pass a visitor's proofs on, and need not
        return _check_human(candidate) if candidate.post.intake.proofs else candidate
    except ApiError:
        return candidate


def _check_human(candidate: Candidate) -> Candidate:
    protection, post = candidate.own_form().spam_protection, candidate.post
    form = candidate.own_form().id
    again = f"{form} {post.idempotency_key}" if post.idempotency_key else ""
    is_human = False
    if protection.captcha and protection.captcha_secret:
        doubts = captchas.require_pass(
            protection, post.intake.proofs, form_id=form, address=client_address(post.request), used_by=again
        )
        candidate = dataclasses.replace(candidate, doubts=doubts)
        is_human = not doubts
    if protection.proof_of_work:
        proof_of_work.require_proof(post.intake.proofs, purposes=(encode_id(Prefix.FORM, form), ""), used_by=again)
        is_human = True
    return dataclasses.replace(candidate, is_human=is_human)


FORM_GATES: tuple[Gate, ...] = (
    require_room,
    require_published,
    require_values,
    require_files,
    require_human,
)


def accept(candidate: Candidate) -> Stored:
    """
    Store a submission that passes the form's gates, as spam if there are reasons.

    A retry with the same Idempotency-Key and body gets the first response, even if the form would refuse it now.
    """
    form = candidate.own_form()
    try:
        for gate in FORM_GATES:
            candidate = gate(candidate)
        reasons = find_spam(candidate)
    except ApiError:
        earlier = _earlier(candidate)
        if earlier is None:
            raise
        return earlier
    post = candidate.post  # its files have their names now
    intake = post.intake
    if candidate.is_human:
        intake = dataclasses.replace(intake, controls=intake.controls | {Submission.HUMAN: "passed"})
    if candidate.files and candidate.files.has_new and (earlier := _earlier(candidate)):
        return earlier
    files = candidate.files.keep(form.organization_id, form.id) if candidate.files else []
    stored = None
    try:
        stored = store(
            form,
            intake,
            request_meta(post.request),
            spam_reasons=reasons,
            once=candidate.once,
            most_held=HELD_HOURS * candidate.owner.hourly_limit if candidate.waits and not reasons else None,
            files=files,
            unconfirmed=form.confirmation and not reasons and not candidate.owner.is_member,
        )
    except (TooManyHeld, IntegrityError) as error:
        raise _not_stored(candidate, error) from None
    finally:
        if candidate.files and (stored is None or stored.replayed):
            candidate.files.give_up()
    return stored


def find_spam(candidate: Candidate) -> Sequence[str]:
    """Return why it is spam. Raises SentTooFast, and RateLimited for spam from a page, over its address's hour."""
    post, form = candidate.post, candidate.own_form()
    declared = [field["name"] for field in form.fields]
    reasons = spam_reasons(post.intake, form.spam_protection, declared=declared, opened_for=post.opened_for)
    reasons += candidate.doubts
    if reasons and candidate.is_from_page:
        limit_spam(post.request)
    return reasons


def _not_stored(candidate: Candidate, error: Exception) -> Exception:
    """Return the error of a submission that could not be stored."""
    if isinstance(error, TooManyHeld):
        assert candidate.usage  # noqa: S101 - nothing waits before it was counted
        return candidate.usage.refusal()
    if Form.objects.filter(pk=candidate.own_form().id).exists():
        return error
    return NotFound()  # the form was erased meanwhile: files take a while to be stored


def _earlier(candidate: Candidate) -> Stored | None:
    """Return what this post's idempotency key has stored before with the same body, if it has."""
    once = candidate.once
    return find_earlier(candidate.own_form().id, once) if once else None


def settle(candidate: Candidate, stored: Stored) -> None:
    """Give the reserved request back if it was spam or a replay, and note an hour that is nearly used up."""
    usage = candidate.usage
    if usage and candidate.is_reserved and (stored.is_spam or stored.replayed):
        usage = ratelimit.give_back(usage)
    ratelimit.note_marks(usage)


def limit_spam(request: HttpRequest) -> None:
    """Count spam from a page against its address, whose hour it must not exceed: strangers could fill the disk."""
    usage = ratelimit.count_address(request)
    if usage.is_over:
        raise usage.refusal()


def request_meta(request: HttpRequest) -> dict[str, str | None]:
    """Return the metadata to store: `{ip, userAgent, origin, referer}`."""
    headers = {"userAgent": "HTTP_USER_AGENT", "origin": "HTTP_ORIGIN", "referer": "HTTP_REFERER"}
    meta: dict[str, str | None] = {"ip": client_address(request)}
    for name, header in headers.items():
        meta[name] = clean_text(request.META.get(header, ""))[: MAX_META[name]] or None
    return meta
