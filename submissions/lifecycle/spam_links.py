"""
The link "Mark as spam" in a notification mail: recipients mark a submission without a login.

The token is signed and says the submission and a digest of the address, like the link that stops the mails. It works
while the address is mailed about the form: removing a recipient takes the right with it.
"""

from django.conf import settings
from django.core.signing import BadSignature, Signer

from config.base.ids import InvalidId, Prefix, decode_id
from forms_app.consent.recipients import LinkInvalid, mailable, short_digest
from submissions.models import Submission


def _links() -> Signer:
    return Signer(salt="submissions.spam_links", sep=".")


def spam_url(submission_id: str, address: str) -> str:
    """Return the address of the page on which a recipient marks a submission. `submission_id`: as in the API."""
    return f"{settings.PUBLIC_URL}/mails/spam/{_links().sign(f'{submission_id}.{short_digest(address)}')}"


def find_marking(token: str) -> Submission:
    """Return the submission of a link. Raises LinkInvalid, also for a recipient who is no longer mailed."""
    try:
        submission_id, _, wanted = _links().unsign(token).partition(".")
        pk = decode_id(Prefix.SUBMISSION, submission_id)
    except (BadSignature, InvalidId):
        raise LinkInvalid from None
    found = Submission.objects.select_related("form__organization").filter(pk=pk).first()
    if found and any(short_digest(email) == wanted for email in mailable([found.form]).get(found.form_id, [])):
        return found
    raise LinkInvalid
