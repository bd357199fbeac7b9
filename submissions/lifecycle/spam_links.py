"""
The link "Mark as spam" in a notification mail: recipients mark a submission without a login.

The token is signed and says the submission and a digest of the address, like the link that stops the mails. It works
while the address is mailed about the form: removing a recipient takes the right with it.
"""

from django.conf import settings
from django.core.signing import BadSignature, Signer

from config.base.ids import InvalidId, Prefix, decode_id
from forms_app.consent.recipients import LinkInvalid, mailable, short_digest
from forms_app.models import Form
from keys.members import verified_members
from keys.models import Role
from submissions.models import Submission


def _links() -> Signer:
    return Signer(salt="submissions.spam_links", sep=".")


def spam_url(submission_id: str, address: str) -> str:
    """Return the address of the page on which a recipient marks a submission. `submission_id`: as in the API."""
    return f"{settings.PUBLIC_URL}/mails/spam/{_links().sign(f'{submission_id}.{short_digest(address)}')}"


def find_marking(token: str) -> Submission:
    """Return the submission of a link. Raises LinkInvalid, also for who is no longer mailed, or is a viewer now."""
    try:
        submission_id, _, wanted = _links().unsign(token).partition(".")
        pk = decode_id(Prefix.SUBMISSION, submission_id)
    except (BadSignature, InvalidId):
        raise LinkInvalid from None
    found = Submission.objects.select_related("form__organization").filter(pk=pk).first()
    if found and wanted in {short_digest(email) for email in _may_mark(found.form)}:
        return found
    raise LinkInvalid


def _may_mark(form: Form) -> list[str]:
    members = verified_members([form.organization_id])
    viewers = {email for (_, email), member in members.items() if member.role == Role.VIEWER}
    return [email for email in mailable([form]).get(form.pk, []) if email.lower() not in viewers]
