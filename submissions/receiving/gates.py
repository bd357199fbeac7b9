"""
The gates of a submission, in the one order in which they are tried; the first that fails answers (docs/contract.md 1).

Two doors lead here: `POST /api/submit` and plain posts (`POST /f/{formId}` and its like). A door says how to read a
post, whom it counts against (401 or 404 if nobody), and how to answer it. Then come `GATES` and `FORM_GATES`. A new
gate is a function and a line in `GATES`, or in `FORM_GATES` if a retry of a stored post may pass it.
"""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, ClassVar

from django.conf import settings
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse

from config.api import ratelimit
from config.api.errors import (
    ApiError,
    EmptySubmission,
    FormNotPublished,
    MethodNotAllowed,
    NotFound,
    PayloadTooLarge,
    QuotaExceeded,
    Suspended,
    Unauthorized,
    ValidationFailed,
    as_api_error,
    logged_once,
)
from config.base.client_address import client_address
from config.base.nudge import DELIVER, nudge
from forms_app.field_kinds import FieldType
from forms_app.models import Form
from forms_app.spam_protection import SpamProtection
from forms_app.validation import check_values
from keys.authentication import note_use_safely
from submissions.mode import asked_for, has_room_for
from submissions.models import IdempotencyKey, Submission
from submissions.receiving import captchas, proof_of_work
from submissions.receiving.files import FilesOfPost, check_files
from submissions.receiving.insert import Hold, Stored, TooManyHeld, replay, store
from submissions.receiving.key_and_form import Owner
from submissions.receiving.once import Once
from submissions.receiving.page_limits import refuse_page
from submissions.receiving.parse_body import Post, request_meta
from submissions.receiving.refused import FORM_BLOCKED, NOT_AVAILABLE, NOT_OPEN, note_refused
from submissions.receiving.spam import spam_reasons

HELD_HOURS = 10  # so many hours' requests of the plan are held at most


@dataclasses.dataclass(slots=True)
class Candidate:
    """
    A post that becomes a submission if it passes every gate, with what the gates have learned.

    `usage`: the organization's hour, once counted. `is_reserved`: counted there, to be given back unless it is stored
    and not spam. `waits`: to be stored as held. `files`: its files as gates have checked them, in the order of the
    form's fields; None: it has none. `held`: why it is held, besides `waits`.
    """

    post: Post
    owner: Owner
    usage: ratelimit.Usage | None = None
    is_reserved: bool = False
    waits: bool = False
    spam_reasons: Sequence[str] = ()
    files: FilesOfPost | None = None
    held: str = Submission.Held.NOT

    @property
    def is_from_page(self) -> bool:
        """Whether this is a browser submission: to `/f/`, with a publishable key, or with an Origin."""
        key, is_member = self.owner.key, self.owner.is_member
        return not is_member and (key is None or key.is_publishable or "HTTP_ORIGIN" in self.post.request.META)

    @property
    def once(self) -> Once | None:
        """Its idempotency key, if it came with one."""
        post, key = self.post, self.owner.key
        if not post.idempotency_key:
            return None
        sender = IdempotencyKey.Sender.PAGE if key is None or key.is_publishable else IdempotencyKey.Sender.SECRET
        sender = IdempotencyKey.Sender.TEST if self.owner.is_test else sender
        return Once(post.idempotency_key, sender, post.body.digest())

    def own_form(self) -> Form:
        """Return the form. Raises NotFound and, for another organization's form, Unauthorized."""
        if self.owner.form is not None:
            return self.owner.form
        raise Unauthorized if self.owner.form_is_foreign else NotFound("There is no form with this id.")


Gate = Callable[[Candidate], None]  # or raises ApiError


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
                gate(candidate)
            stored = accept(candidate)
            nudge(DELIVER)
            if candidate.usage and candidate.is_reserved and (candidate.spam_reasons or stored.replayed):
                candidate.usage = ratelimit.give_back(candidate.usage)
            ratelimit.note_marks(candidate.usage)
            return self.answer(candidate, stored)
        except Exception as error:  # the same mapping as DRF's handler, for the same reasons
            if candidate and stored:
                candidate.is_reserved = False
            failure = as_api_error(error)
            return logged_once(self._refuse(post, candidate, failure), failure)
        finally:
            for file in post.body.files:
                file.content.close()

    def _refuse(self, post: Post, candidate: Candidate | None, failure: ApiError) -> HttpResponse:
        """Answer a refusal, noted for the owner, and counted against the address unless it came from a server."""
        owner, usage = (candidate.owner, candidate.usage) if candidate else (None, None)
        if usage and candidate and candidate.is_reserved:
            usage = ratelimit.give_back(usage)
        is_from_page = candidate is not None and candidate.is_from_page
        failure, usage = note_refused(
            post, failure, owner=owner, usage=usage, is_from_page=is_from_page, is_for_visitors=self.is_for_visitors
        )
        return self.refuse(post, failure, owner=owner, usage=usage)


def refuse_suspended(candidate: Candidate) -> None:
    """Refuse everything for an organization that the operator has suspended, or a form that is blocked (403)."""
    form = candidate.owner.form
    is_blocked = form is not None and form.blocked_at is not None
    if candidate.owner.organization.is_suspended or is_blocked:
        raise Suspended(NOT_AVAILABLE if candidate.is_from_page else FORM_BLOCKED if is_blocked else "")


def limit_pages(candidate: Candidate) -> None:
    """Refuse a browser submission from an origin that the form does not allow (403) or over a burst limit (429)."""
    refusal = refuse_page(candidate.post.request, candidate.owner) if candidate.is_from_page else None
    if refusal:
        raise refusal


def count_hour(candidate: Candidate) -> None:
    """Count it against the organization's hour, or that of tests: of browser submissions, as many as have room."""
    owner, organization = candidate.owner, candidate.owner.organization
    if owner.is_test:
        candidate.usage = ratelimit.count_tests(organization.pk)
        return
    if not candidate.is_from_page:
        candidate.usage = ratelimit.count_organization(organization.pk, organization.hourly_limit)
        return
    has_queue = owner.may_wait and organization.held_posts > 0  # first come, first served
    wanted = 0 if has_queue else 1
    reserved, usage = ratelimit.reserve_for_pages(organization.pk, organization.hourly_limit, wanted)
    candidate.usage = dataclasses.replace(usage, is_public=owner.key is None or owner.key.is_publishable)
    candidate.is_reserved = bool(reserved)
    candidate.waits = owner.may_wait and not reserved


def limit_hour(candidate: Candidate) -> None:
    """Refuse a request over the plan's hourly limit (429). Plain posts are held instead."""
    if candidate.usage and candidate.usage.is_over and not candidate.waits:
        raise candidate.usage.refusal()


def note_key_use(candidate: Candidate) -> None:
    """Record, at most every ten minutes, that the key is in use, and whether a secret key is used in a page."""
    key = candidate.owner.key
    if key is not None:
        is_exposed = candidate.is_from_page and not key.is_publishable
        if not key.was_used_recently or (is_exposed and not key.was_in_page_recently):
            note_use_safely(key.id, from_browser=is_exposed)


def require_post(candidate: Candidate) -> None:
    """Refuse other methods (405)."""
    if candidate.post.request.method != "POST":
        raise MethodNotAllowed("Submit with POST.", headers={"Allow": "POST, OPTIONS"})


def require_sound_body(candidate: Candidate) -> None:
    """Refuse a body or header that could not be read: 413, 415, 400 invalid_json, 400 validation_error."""
    if problem := candidate.post.problem:
        raise problem


def require_own_form(candidate: Candidate) -> None:
    """Refuse a form that does not exist (404) or belongs to another organization (403 unauthorized)."""
    candidate.own_form()


def keep_declared(candidate: Candidate) -> None:
    """Take the fields that a plain post dropped as a framework's for data, where the form declares such names."""
    intake = candidate.post.intake
    if intake.dropped:
        declared = {field["name"] for field in candidate.own_form().fields}
        intake.values.update({name: text for name, text in intake.dropped.items() if name in declared})


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


def require_room(candidate: Candidate) -> None:
    """Refuse submissions to an organization whose stored bytes are used up (413)."""
    if candidate.owner.organization.is_full:
        raise _full(candidate)


def _full(candidate: Candidate) -> QuotaExceeded:
    return QuotaExceeded(NOT_AVAILABLE if candidate.is_from_page else "")


def require_published(candidate: Candidate) -> None:
    """Refuse submissions to drafts and archived forms (403)."""
    if candidate.own_form().status != Form.Status.PUBLISHED:
        raise FormNotPublished(NOT_OPEN if candidate.is_from_page else "")


def require_values(candidate: Candidate) -> None:
    """Refuse a submission without values, or with values that do not fit the form's fields (400)."""
    intake, arrived, fields = candidate.post.intake, candidate.post.body.files, candidate.own_form().fields
    if not intake.values and not arrived:
        raise EmptySubmission
    sent = {file.field for file in arrived}
    problems = list(check_values(fields, intake.values, intake.lists, sent)) if fields else []
    if problems:
        raise ValidationFailed(problems)


def require_files(candidate: Candidate) -> None:
    """
    Refuse files that do not fit the form's File fields (400, or 413 where there are none), or the storage (413).

    The names of the files become the fields' values.
    """
    intake, arrived, form = candidate.post.intake, candidate.post.body.files, candidate.own_form()
    takes_files = any(field["type"] == FieldType.FILE for field in form.fields)
    if candidate.owner.is_member or not (takes_files or arrived):
        return  # a member's test has names for examples
    if not takes_files and sum(file.size for file in arrived) > settings.MAX_BODY_BYTES:
        raise PayloadTooLarge
    files = check_files(form.fields, intake, arrived, form_id=form.pk)
    if files.files and files.size > candidate.owner.organization.room_for_files:
        raise _full(candidate)
    if files.files and candidate.owner.is_test and not has_room_for(files.size, form.organization_id):
        raise _full(candidate)
    intake.values.update(files.names)
    candidate.files = files


def require_human(candidate: Candidate) -> None:
    """Refuse a browser submission without the proofs that the form requires: captcha, proof of work (400)."""
    if candidate.is_from_page:
        _check_human(candidate)
    elif candidate.post.intake.proofs:
        with suppress(ApiError):  # a server may pass a visitor's proofs on, and need not
            _check_human(candidate)


def _check_human(candidate: Candidate) -> None:
    post, form, doubts = candidate.post, candidate.own_form(), list[str]()
    protection, proofs = SpamProtection.of(form.spam_protection), post.intake.proofs
    again = f"{form.pk} {post.idempotency_key}" if post.idempotency_key else ""
    has_captcha = bool(protection.captcha and protection.captcha_secret)
    if has_captcha and candidate.owner.is_test:
        captchas.refuse_failed_test(protection, proofs)
    elif has_captcha:
        address = client_address(post.request)
        doubts += captchas.require_pass(protection, proofs, form_id=form.pk, address=address, used_by=again)
    if protection.proof_of_work:
        proof_of_work.require_proof(proofs, purposes=(form.public_id, ""), used_by=again)
    candidate.spam_reasons = doubts
    if protection.proof_of_work or (has_captcha and not doubts):
        post.intake.controls[Submission.HUMAN] = "passed"


def find_spam(candidate: Candidate) -> None:
    """Note why it is spam. Refuse what only its speed makes suspicious (400), and a page's over its address's hour."""
    post, form = candidate.post, candidate.own_form()
    declared, protection = [field["name"] for field in form.fields], SpamProtection.of(form.spam_protection)
    reasons = spam_reasons(post.intake, protection, declared=declared, opened_for=post.opened_for)
    candidate.spam_reasons = [*reasons, *candidate.spam_reasons]
    if candidate.owner.is_test:
        asked, candidate.held = asked_for(form.fields, post.intake.values)
        candidate.spam_reasons += asked
    is_counted = candidate.is_from_page and not candidate.owner.is_test
    if candidate.spam_reasons and is_counted:  # else strangers could fill the disk
        usage = ratelimit.count_address(post.request)
        if usage.is_over:
            raise usage.refusal()


FORM_GATES: tuple[Gate, ...] = (
    require_room,
    require_published,
    require_values,
    require_files,
    require_human,
    find_spam,
)


def accept(candidate: Candidate) -> Stored:
    """
    Store a submission that passes the form's gates, as spam if there are reasons.

    A retry with the same Idempotency-Key and body gets the first response, even if the form would refuse it now.
    """
    try:
        for gate in FORM_GATES:
            gate(candidate)
    except ApiError:
        if earlier := _earlier(candidate):
            return earlier
        raise
    form, owner, files, reasons = candidate.own_form(), candidate.owner, candidate.files, candidate.spam_reasons
    if files and files.has_new and (earlier := _earlier(candidate)):
        return earlier
    kept = files.keep(form.organization_id, form.pk) if files else []
    stored = None
    try:
        stored = store(
            form,
            candidate.post.intake,
            request_meta(candidate.post.request),
            spam_reasons=reasons,
            once=candidate.once,
            hold=_hold_of(candidate),
            files=kept,
            test=owner.is_test,
        )
    except TooManyHeld:
        assert candidate.usage  # noqa: S101 - nothing waits before it was counted
        raise candidate.usage.refusal() from None
    except IntegrityError:
        if Form.objects.filter(pk=form.pk).exists():
            raise
        raise NotFound from None  # the form was erased meanwhile: files take a while to be stored
    finally:
        if files and (stored is None or stored.replayed):
            files.give_up()
    return stored


def _hold_of(candidate: Candidate) -> Hold | None:
    """Return how a post is held; None: it is delivered, or spam."""
    organization = candidate.owner.organization
    unconfirmed = candidate.own_form().confirmation and not candidate.owner.is_member
    after_quota = candidate.held or (Submission.Held.CONFIRMATION if unconfirmed else Submission.Held.NOT)
    why = Submission.Held.QUOTA if candidate.waits else after_quota
    is_held = why and not candidate.spam_reasons
    return Hold(why, unconfirmed, most=HELD_HOURS * organization.hourly_limit) if is_held else None


def _earlier(candidate: Candidate) -> Stored | None:
    """Return what this post's idempotency key has stored before with the same body, if it has."""
    known = candidate.once.find(candidate.own_form().pk) if candidate.once else None
    return replay(known) if known else None
