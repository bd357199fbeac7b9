"""
Every action of the audit trail: its name in the database, the words of the screen, and its kind.

The screen, its filter and docs/running.md come from this list. A test finds the actions that the code records.
"""

from typing import TYPE_CHECKING

from django.db import models
from django.utils.translation import gettext_lazy, gettext_noop, pgettext_lazy

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

ITSELF = gettext_noop("The service")  # the actor of what happens by itself, such as retention
SYSTEM_USER = "system user "  # before the name of an actor who ran a command; customers see an operator
VISITOR = gettext_noop("A visitor")  # the actor who is not logged in, such as a recipient with a link


class Kind(models.TextChoices):
    ACCOUNT = "account", gettext_lazy("Logins and accounts")
    ORGANIZATION = "organization", gettext_lazy("Organization and plan")
    MEMBER = "member", gettext_lazy("Members")
    KEY = "key", gettext_lazy("Access keys")
    FORM = "form", gettext_lazy("Forms")
    SUBMISSION = "submission", gettext_lazy("Submissions")
    WEBHOOK = "webhook", gettext_lazy("Webhooks")
    OPERATOR = "operator", gettext_lazy("Operators")


# By kind and name: the words between the person and the subject, as in "ada@example.com *generated the key* Website".
ACTIONS: "dict[str, dict[str, StrOrPromise]]" = {
    Kind.ACCOUNT: {
        "account.signed_up": pgettext_lazy("what somebody did", "signed up"),
        "account.logged_in": pgettext_lazy("what somebody did", "logged in"),
        "account.login_failed": pgettext_lazy("what somebody did", "could not log in"),
        "account.logged_out": pgettext_lazy("what somebody did", "logged out"),
        "account.sessions_ended": pgettext_lazy("what somebody did", "ended other sessions"),
        "account.password_changed": pgettext_lazy("what somebody did", "changed the password"),
        "account.password_reset": pgettext_lazy("what somebody did", "set a new password by mail"),
        "account.email_changed": pgettext_lazy("what somebody did", "changed the email address"),
        "account.second_step_added": pgettext_lazy("what somebody did", "added to the login"),
        "account.second_step_removed": pgettext_lazy("what somebody did", "removed from the login"),
        "account.second_step_renewed": pgettext_lazy("what somebody did", "renewed for the login"),
        "account.identity_linked": pgettext_lazy("what somebody did", "linked the login at"),
        "account.deleted": pgettext_lazy("what somebody did", "deleted the account"),
    },
    Kind.ORGANIZATION: {
        "organization.created": pgettext_lazy("what somebody did", "created the organization"),
        "organization.renamed": pgettext_lazy("what somebody did", "renamed the organization"),
        "organization.brand_changed": pgettext_lazy("what somebody did", "changed the logo or accent of"),
        "organization.deleted": pgettext_lazy("what somebody did", "deleted the organization"),
        "organization.deletion_requested": pgettext_lazy(
            "what somebody did", "requested the deletion of the organization"
        ),
        "organization.suspended": pgettext_lazy("what somebody did", "suspended the organization"),
        "organization.resumed": pgettext_lazy("what somebody did", "resumed the organization"),
        "organization.second_step_required": pgettext_lazy(
            "what somebody did", "required a second step of the members of"
        ),
        "organization.second_step_optional": pgettext_lazy(
            "what somebody did", "made a second step optional for the members of"
        ),
        "organization.changed": pgettext_lazy("what somebody did", "changed the organization"),
        "plan.changed": pgettext_lazy("what somebody did", "changed the plan to"),
        "trail.exported": pgettext_lazy("what somebody did", "exported the audit trail as"),
    },
    Kind.MEMBER: {
        "member.invited": pgettext_lazy("what somebody did", "invited"),
        "member.added": pgettext_lazy("what somebody did", "added"),
        "member.joined": pgettext_lazy("what somebody did", "joined"),
        "member.role_unknown": pgettext_lazy("what somebody did", "got the default role, for an unknown one:"),
        "member.role_changed": pgettext_lazy("what somebody did", "changed a role:"),
        "member.forms_changed": pgettext_lazy("what somebody did", "changed the forms that a member sees:"),
        "member.removed": pgettext_lazy("what somebody did", "removed the member"),
        "member.left": pgettext_lazy("what somebody did", "left"),
        "invitation.revoked": pgettext_lazy("what somebody did", "took back the invitation of"),
        "invitation.declined": pgettext_lazy("what somebody did", "declined the invitation of"),
    },
    Kind.KEY: {
        "key.created": pgettext_lazy("what somebody did", "generated the key"),
        "key.regenerated": pgettext_lazy("what somebody did", "regenerated the key"),
        "key.revoked": pgettext_lazy("what somebody did", "revoked the key"),
    },
    Kind.FORM: {
        "form.created": pgettext_lazy("what somebody did", "created the form"),
        "form.copied": pgettext_lazy("what somebody did", "created as a copy the form"),
        "form.changed": pgettext_lazy("what somebody did", "changed the form"),
        "form.spam_protection_changed": pgettext_lazy("what somebody did", "changed the spam protection of"),
        "form.page_changed": pgettext_lazy("what somebody did", "changed the page of the form"),
        "form.replies_changed": pgettext_lazy("what somebody did", "changed the replies of"),
        "form.recipients_changed": pgettext_lazy("what somebody did", "changed the recipients of"),
        "form.recipient_asked": pgettext_lazy("what somebody did", "asked a recipient to confirm:"),
        "form.recipient_confirmed": pgettext_lazy("what somebody did", "confirmed the mails of"),
        "form.recipient_stopped": pgettext_lazy("what somebody did", "stopped the mails of"),
        "form.recipient_resumed": pgettext_lazy("what somebody did", "took back the stop of the mails of"),
        "submitter.stopped": pgettext_lazy("what somebody did", "ended all mails to the submitter"),
        "submitter.resumed": pgettext_lazy("what somebody did", "allowed mails again to the submitter"),
        "submitter.removed": pgettext_lazy("what somebody did", "took a submitter off the list of ended mails:"),
        "form.published": pgettext_lazy("what somebody did", "published the form"),
        "form.unpublished": pgettext_lazy("what somebody did", "unpublished the form"),
        "form.blocked": pgettext_lazy("what somebody did", "blocked the form"),
        "form.unblocked": pgettext_lazy("what somebody did", "unblocked the form"),
        "form.archived": pgettext_lazy("what somebody did", "archived the form"),
        "form.erased": pgettext_lazy("what somebody did", "erased the form"),
    },
    Kind.SUBMISSION: {
        "submissions.exported": pgettext_lazy("what somebody did", "exported submissions as"),
        "submissions.imported": pgettext_lazy("what somebody did", "imported submissions into"),
        "submissions.import_undone": pgettext_lazy("what somebody did", "undid an import:"),
        "submissions.deleted": pgettext_lazy("what somebody did", "deleted"),
        "submissions.expired": pgettext_lazy("what somebody did", "deleted at the end of their retention"),
        "submissions.marked_spam": pgettext_lazy("what somebody did", "marked as spam"),
        "submissions.marked_not_spam": pgettext_lazy("what somebody did", "marked as not spam"),
        "submissions.confirmed": pgettext_lazy("what somebody did", "confirmed by a mailed link:"),
        "submissions.released": pgettext_lazy("what somebody did", "released"),
    },
    Kind.WEBHOOK: {
        "webhook.created": pgettext_lazy("what somebody did", "created the webhook"),
        "webhook.named": pgettext_lazy("what somebody did", "added, inactive, because a page named it, the webhook"),
        "webhook.disabled": pgettext_lazy("what somebody did", "disabled the webhook"),
        "webhook.changed": pgettext_lazy("what somebody did", "changed the webhook"),
        "webhook.secret_rotated": pgettext_lazy("what somebody did", "rotated the secret of the webhook"),
        "webhook.replayed": pgettext_lazy("what somebody did", "sent again to the webhook"),
        "webhook.deleted": pgettext_lazy("what somebody did", "deleted the webhook"),
        "destination.created": pgettext_lazy("what somebody did", "created the destination"),
        "destination.changed": pgettext_lazy("what somebody did", "changed the destination"),
        "destination.needs_attention": pgettext_lazy(
            "what somebody did", "put on hold the deliveries to the destination"
        ),
        "destination.released": pgettext_lazy("what somebody did", "released the deliveries to the destination"),
        "destination.replayed": pgettext_lazy("what somebody did", "sent again to the destination"),
        "destination.deleted": pgettext_lazy("what somebody did", "deleted the destination"),
        "mails.replayed": pgettext_lazy("what somebody did", "sent mails about submissions again:"),
    },
    Kind.OPERATOR: {
        "operator.rights_changed": pgettext_lazy("what somebody did", "changed the rights of"),
        "operator.second_step_removed": pgettext_lazy("what somebody did", "removed a second step of"),
        "operator.identity_removed": pgettext_lazy("what somebody did", "removed the linked login of"),
        "operator.account_created": pgettext_lazy("what somebody did", "made an account for"),
        "operator.login_link": pgettext_lazy("what somebody did", "made a link to log in for"),
    },
}
KIND_OF = {name: kind for kind, words in ACTIONS.items() for name in words}


def words_of(name: str) -> str:
    """Return the words of an action; for an unknown one, which a newer version recorded, its name."""
    return str(ACTIONS[KIND_OF[name]][name]) if name in KIND_OF else name
