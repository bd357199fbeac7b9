"""
Every action of the audit trail: its name in the database, the words of the screen, and its kind.

The screen, its filter and docs/running.md come from this list. A test finds the actions that the code records.
"""

import dataclasses

from django.db import models

ITSELF = "The service"  # the actor of what happens by itself, such as retention
VISITOR = "A visitor"  # the actor who is not logged in, such as a recipient with a link


class Kind(models.TextChoices):
    """The kinds by which the trail is filtered."""

    ACCOUNT = "account", "Logins and accounts"
    ORGANIZATION = "organization", "Organization and plan"
    MEMBER = "member", "Members"
    KEY = "key", "Access keys"
    FORM = "form", "Forms"
    SUBMISSION = "submission", "Submissions"
    WEBHOOK = "webhook", "Webhooks"
    OPERATOR = "operator", "Operators"


@dataclasses.dataclass(frozen=True, slots=True)
class Action:
    """`words`: between the person and the subject, as in "ada@example.com *generated the key* Website"."""

    name: str
    words: str
    kind: Kind


ACTIONS = [
    Action("account.signed_up", "signed up", Kind.ACCOUNT),
    Action("account.logged_in", "logged in", Kind.ACCOUNT),
    Action("account.login_failed", "could not log in", Kind.ACCOUNT),
    Action("account.logged_out", "logged out", Kind.ACCOUNT),
    Action("account.sessions_ended", "ended other sessions", Kind.ACCOUNT),
    Action("account.password_changed", "changed the password", Kind.ACCOUNT),
    Action("account.password_reset", "set a new password by mail", Kind.ACCOUNT),
    Action("account.email_changed", "changed the email address", Kind.ACCOUNT),
    Action("account.second_step_added", "added to the login", Kind.ACCOUNT),
    Action("account.second_step_removed", "removed from the login", Kind.ACCOUNT),
    Action("account.second_step_renewed", "renewed for the login", Kind.ACCOUNT),
    Action("account.deleted", "deleted the account", Kind.ACCOUNT),
    Action("organization.created", "created the organization", Kind.ORGANIZATION),
    Action("organization.renamed", "renamed the organization", Kind.ORGANIZATION),
    Action("organization.brand_changed", "changed the logo or accent of", Kind.ORGANIZATION),
    Action("organization.deleted", "deleted the organization", Kind.ORGANIZATION),
    Action("organization.deletion_requested", "requested the deletion of the organization", Kind.ORGANIZATION),
    Action("organization.suspended", "suspended the organization", Kind.ORGANIZATION),
    Action("organization.resumed", "resumed the organization", Kind.ORGANIZATION),
    Action("organization.second_step_required", "required a second step of the members of", Kind.ORGANIZATION),
    Action("organization.second_step_optional", "made a second step optional for the members of", Kind.ORGANIZATION),
    Action("organization.changed", "changed the organization", Kind.ORGANIZATION),
    Action("plan.changed", "changed the plan to", Kind.ORGANIZATION),
    Action("trail.exported", "exported the audit trail as", Kind.ORGANIZATION),
    Action("member.invited", "invited", Kind.MEMBER),
    Action("member.added", "added", Kind.MEMBER),
    Action("member.joined", "joined", Kind.MEMBER),
    Action("member.role_changed", "changed a role:", Kind.MEMBER),
    Action("member.removed", "removed the member", Kind.MEMBER),
    Action("member.left", "left", Kind.MEMBER),
    Action("invitation.revoked", "took back the invitation of", Kind.MEMBER),
    Action("invitation.declined", "declined the invitation of", Kind.MEMBER),
    Action("key.created", "generated the key", Kind.KEY),
    Action("key.regenerated", "regenerated the key", Kind.KEY),
    Action("key.revoked", "revoked the key", Kind.KEY),
    Action("form.created", "created the form", Kind.FORM),
    Action("form.copied", "created as a copy the form", Kind.FORM),
    Action("form.changed", "changed the form", Kind.FORM),
    Action("form.spam_protection_changed", "changed the spam protection of", Kind.FORM),
    Action("form.page_changed", "changed the page of the form", Kind.FORM),
    Action("form.recipients_changed", "changed the recipients of", Kind.FORM),
    Action("form.recipient_asked", "asked a recipient to confirm:", Kind.FORM),
    Action("form.recipient_confirmed", "confirmed the mails of", Kind.FORM),
    Action("form.recipient_stopped", "stopped the mails of", Kind.FORM),
    Action("form.recipient_resumed", "took back the stop of the mails of", Kind.FORM),
    Action("form.published", "published the form", Kind.FORM),
    Action("form.unpublished", "unpublished the form", Kind.FORM),
    Action("form.archived", "archived the form", Kind.FORM),
    Action("form.erased", "erased the form", Kind.FORM),
    Action("submissions.exported", "exported submissions as", Kind.SUBMISSION),
    Action("submissions.deleted", "deleted", Kind.SUBMISSION),
    Action("submissions.expired", "deleted at the end of their retention", Kind.SUBMISSION),
    Action("submissions.marked_spam", "marked as spam", Kind.SUBMISSION),
    Action("submissions.marked_not_spam", "marked as not spam", Kind.SUBMISSION),
    Action("submissions.released", "released", Kind.SUBMISSION),
    Action("webhook.created", "created the webhook", Kind.WEBHOOK),
    Action("webhook.named", "added, inactive, because a page named it, the webhook", Kind.WEBHOOK),
    Action("webhook.disabled", "disabled the webhook", Kind.WEBHOOK),
    Action("webhook.changed", "changed the webhook", Kind.WEBHOOK),
    Action("webhook.secret_rotated", "rotated the secret of the webhook", Kind.WEBHOOK),
    Action("webhook.replayed", "sent again to the webhook", Kind.WEBHOOK),
    Action("webhook.deleted", "deleted the webhook", Kind.WEBHOOK),
    Action("operator.rights_changed", "changed the rights of", Kind.OPERATOR),
    Action("operator.second_step_removed", "removed a second step of", Kind.OPERATOR),
]
BY_NAME = {action.name: action for action in ACTIONS}


def words_of(name: str) -> str:
    """Return the words of an action; for an unknown one, which a newer version recorded, its name."""
    return BY_NAME[name].words if name in BY_NAME else name


def names_of(kind: str) -> list[str]:
    """Return the names of the actions of a kind."""
    return [action.name for action in ACTIONS if action.kind == kind]
