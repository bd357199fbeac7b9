"""
Every action of the audit trail: its name in the database, the words of the screen, and its kind.

The screen, its filter and docs/running.md come from this list. A test finds the actions that the code records.
"""

import dataclasses
from typing import TYPE_CHECKING

from django.db import models
from django.utils.translation import gettext_lazy, gettext_noop, pgettext_lazy

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

ITSELF = gettext_noop("The service")  # the actor of what happens by itself, such as retention
SYSTEM_USER = "system user "  # before the name of an actor who ran a command; customers see an operator
VISITOR = gettext_noop("A visitor")  # the actor who is not logged in, such as a recipient with a link


class Kind(models.TextChoices):
    """The kinds by which the trail is filtered."""

    ACCOUNT = "account", gettext_lazy("Logins and accounts")
    ORGANIZATION = "organization", gettext_lazy("Organization and plan")
    MEMBER = "member", gettext_lazy("Members")
    KEY = "key", gettext_lazy("Access keys")
    FORM = "form", gettext_lazy("Forms")
    SUBMISSION = "submission", gettext_lazy("Submissions")
    WEBHOOK = "webhook", gettext_lazy("Webhooks")
    OPERATOR = "operator", gettext_lazy("Operators")


@dataclasses.dataclass(frozen=True, slots=True)
class Action:
    """`words`: between the person and the subject, as in "ada@example.com *generated the key* Website"."""

    name: str
    words: "StrOrPromise"
    kind: Kind


ACTIONS = [
    Action("account.signed_up", pgettext_lazy("what somebody did", "signed up"), Kind.ACCOUNT),
    Action("account.logged_in", pgettext_lazy("what somebody did", "logged in"), Kind.ACCOUNT),
    Action("account.login_failed", pgettext_lazy("what somebody did", "could not log in"), Kind.ACCOUNT),
    Action("account.logged_out", pgettext_lazy("what somebody did", "logged out"), Kind.ACCOUNT),
    Action("account.sessions_ended", pgettext_lazy("what somebody did", "ended other sessions"), Kind.ACCOUNT),
    Action("account.password_changed", pgettext_lazy("what somebody did", "changed the password"), Kind.ACCOUNT),
    Action("account.password_reset", pgettext_lazy("what somebody did", "set a new password by mail"), Kind.ACCOUNT),
    Action("account.email_changed", pgettext_lazy("what somebody did", "changed the email address"), Kind.ACCOUNT),
    Action("account.second_step_added", pgettext_lazy("what somebody did", "added to the login"), Kind.ACCOUNT),
    Action("account.second_step_removed", pgettext_lazy("what somebody did", "removed from the login"), Kind.ACCOUNT),
    Action("account.second_step_renewed", pgettext_lazy("what somebody did", "renewed for the login"), Kind.ACCOUNT),
    Action("account.deleted", pgettext_lazy("what somebody did", "deleted the account"), Kind.ACCOUNT),
    Action("organization.created", pgettext_lazy("what somebody did", "created the organization"), Kind.ORGANIZATION),
    Action("organization.renamed", pgettext_lazy("what somebody did", "renamed the organization"), Kind.ORGANIZATION),
    Action(
        "organization.brand_changed",
        pgettext_lazy("what somebody did", "changed the logo or accent of"),
        Kind.ORGANIZATION,
    ),
    Action("organization.deleted", pgettext_lazy("what somebody did", "deleted the organization"), Kind.ORGANIZATION),
    Action(
        "organization.deletion_requested",
        pgettext_lazy("what somebody did", "requested the deletion of the organization"),
        Kind.ORGANIZATION,
    ),
    Action(
        "organization.suspended", pgettext_lazy("what somebody did", "suspended the organization"), Kind.ORGANIZATION
    ),
    Action("organization.resumed", pgettext_lazy("what somebody did", "resumed the organization"), Kind.ORGANIZATION),
    Action(
        "organization.second_step_required",
        pgettext_lazy("what somebody did", "required a second step of the members of"),
        Kind.ORGANIZATION,
    ),
    Action(
        "organization.second_step_optional",
        pgettext_lazy("what somebody did", "made a second step optional for the members of"),
        Kind.ORGANIZATION,
    ),
    Action("organization.changed", pgettext_lazy("what somebody did", "changed the organization"), Kind.ORGANIZATION),
    Action("plan.changed", pgettext_lazy("what somebody did", "changed the plan to"), Kind.ORGANIZATION),
    Action("trail.exported", pgettext_lazy("what somebody did", "exported the audit trail as"), Kind.ORGANIZATION),
    Action("member.invited", pgettext_lazy("what somebody did", "invited"), Kind.MEMBER),
    Action("member.added", pgettext_lazy("what somebody did", "added"), Kind.MEMBER),
    Action("member.joined", pgettext_lazy("what somebody did", "joined"), Kind.MEMBER),
    Action("member.role_changed", pgettext_lazy("what somebody did", "changed a role:"), Kind.MEMBER),
    Action("member.removed", pgettext_lazy("what somebody did", "removed the member"), Kind.MEMBER),
    Action("member.left", pgettext_lazy("what somebody did", "left"), Kind.MEMBER),
    Action("invitation.revoked", pgettext_lazy("what somebody did", "took back the invitation of"), Kind.MEMBER),
    Action("invitation.declined", pgettext_lazy("what somebody did", "declined the invitation of"), Kind.MEMBER),
    Action("key.created", pgettext_lazy("what somebody did", "generated the key"), Kind.KEY),
    Action("key.regenerated", pgettext_lazy("what somebody did", "regenerated the key"), Kind.KEY),
    Action("key.revoked", pgettext_lazy("what somebody did", "revoked the key"), Kind.KEY),
    Action("form.created", pgettext_lazy("what somebody did", "created the form"), Kind.FORM),
    Action("form.copied", pgettext_lazy("what somebody did", "created as a copy the form"), Kind.FORM),
    Action("form.changed", pgettext_lazy("what somebody did", "changed the form"), Kind.FORM),
    Action(
        "form.spam_protection_changed", pgettext_lazy("what somebody did", "changed the spam protection of"), Kind.FORM
    ),
    Action("form.page_changed", pgettext_lazy("what somebody did", "changed the page of the form"), Kind.FORM),
    Action("form.replies_changed", pgettext_lazy("what somebody did", "changed the replies of"), Kind.FORM),
    Action("form.recipients_changed", pgettext_lazy("what somebody did", "changed the recipients of"), Kind.FORM),
    Action("form.recipient_asked", pgettext_lazy("what somebody did", "asked a recipient to confirm:"), Kind.FORM),
    Action("form.recipient_confirmed", pgettext_lazy("what somebody did", "confirmed the mails of"), Kind.FORM),
    Action("form.recipient_stopped", pgettext_lazy("what somebody did", "stopped the mails of"), Kind.FORM),
    Action(
        "form.recipient_resumed", pgettext_lazy("what somebody did", "took back the stop of the mails of"), Kind.FORM
    ),
    Action("submitter.stopped", pgettext_lazy("what somebody did", "ended all mails to the submitter"), Kind.FORM),
    Action("submitter.resumed", pgettext_lazy("what somebody did", "allowed mails again to the submitter"), Kind.FORM),
    Action(
        "submitter.removed",
        pgettext_lazy("what somebody did", "took a submitter off the list of ended mails:"),
        Kind.FORM,
    ),
    Action("form.published", pgettext_lazy("what somebody did", "published the form"), Kind.FORM),
    Action("form.unpublished", pgettext_lazy("what somebody did", "unpublished the form"), Kind.FORM),
    Action("form.blocked", pgettext_lazy("what somebody did", "blocked the form"), Kind.FORM),
    Action("form.unblocked", pgettext_lazy("what somebody did", "unblocked the form"), Kind.FORM),
    Action("form.archived", pgettext_lazy("what somebody did", "archived the form"), Kind.FORM),
    Action("form.erased", pgettext_lazy("what somebody did", "erased the form"), Kind.FORM),
    Action("submissions.exported", pgettext_lazy("what somebody did", "exported submissions as"), Kind.SUBMISSION),
    Action("submissions.deleted", pgettext_lazy("what somebody did", "deleted"), Kind.SUBMISSION),
    Action(
        "submissions.expired",
        pgettext_lazy("what somebody did", "deleted at the end of their retention"),
        Kind.SUBMISSION,
    ),
    Action("submissions.marked_spam", pgettext_lazy("what somebody did", "marked as spam"), Kind.SUBMISSION),
    Action("submissions.marked_not_spam", pgettext_lazy("what somebody did", "marked as not spam"), Kind.SUBMISSION),
    Action("submissions.confirmed", pgettext_lazy("what somebody did", "confirmed by a mailed link:"), Kind.SUBMISSION),
    Action("submissions.released", pgettext_lazy("what somebody did", "released"), Kind.SUBMISSION),
    Action("webhook.created", pgettext_lazy("what somebody did", "created the webhook"), Kind.WEBHOOK),
    Action(
        "webhook.named",
        pgettext_lazy("what somebody did", "added, inactive, because a page named it, the webhook"),
        Kind.WEBHOOK,
    ),
    Action("webhook.disabled", pgettext_lazy("what somebody did", "disabled the webhook"), Kind.WEBHOOK),
    Action("webhook.changed", pgettext_lazy("what somebody did", "changed the webhook"), Kind.WEBHOOK),
    Action(
        "webhook.secret_rotated", pgettext_lazy("what somebody did", "rotated the secret of the webhook"), Kind.WEBHOOK
    ),
    Action("webhook.replayed", pgettext_lazy("what somebody did", "sent again to the webhook"), Kind.WEBHOOK),
    Action("webhook.deleted", pgettext_lazy("what somebody did", "deleted the webhook"), Kind.WEBHOOK),
    Action("destination.created", pgettext_lazy("what somebody did", "created the destination"), Kind.WEBHOOK),
    Action("destination.changed", pgettext_lazy("what somebody did", "changed the destination"), Kind.WEBHOOK),
    Action(
        "destination.needs_attention",
        pgettext_lazy("what somebody did", "put on hold the deliveries to the destination"),
        Kind.WEBHOOK,
    ),
    Action(
        "destination.released",
        pgettext_lazy("what somebody did", "released the deliveries to the destination"),
        Kind.WEBHOOK,
    ),
    Action("destination.replayed", pgettext_lazy("what somebody did", "sent again to the destination"), Kind.WEBHOOK),
    Action("destination.deleted", pgettext_lazy("what somebody did", "deleted the destination"), Kind.WEBHOOK),
    Action("mails.replayed", pgettext_lazy("what somebody did", "sent mails about submissions again:"), Kind.WEBHOOK),
    Action("operator.rights_changed", pgettext_lazy("what somebody did", "changed the rights of"), Kind.OPERATOR),
    Action(
        "operator.second_step_removed", pgettext_lazy("what somebody did", "removed a second step of"), Kind.OPERATOR
    ),
]
BY_NAME = {action.name: action for action in ACTIONS}


def words_of(name: str) -> str:
    """Return the words of an action; for an unknown one, which a newer version recorded, its name."""
    return str(BY_NAME[name].words) if name in BY_NAME else name


def names_of(kind: str) -> list[str]:
    """Return the names of the actions of a kind."""
    return [action.name for action in ACTIONS if action.kind == kind]
