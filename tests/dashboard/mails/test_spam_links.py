"""The link "Mark as spam" in a notification: one button, no login, only for those who are mailed about the form."""

import pytest

from forms_app.models import Form
from keys.models import AuditEvent
from submissions.models import Submission
from tests.services.client import Client
from tests.services.receivers import Mail, MailReceiver
from tests.support.browser import text_of
from tests.support.mail_links import link_in, press
from tests.support.submitting import submit_and_get_id
from tests.support.tenants import Tenant, make_tenant


def mailed(api: Client, smtp: MailReceiver, tenant: Tenant) -> tuple[Submission, Mail]:
    """Submit to a form with one recipient, who is no member; return the submission and the mail about it."""
    address = f"guest.{tenant.organization.slug}@example.net"
    form_id = tenant.form(notification_recipients=[address])
    submission_id = submit_and_get_id(api, tenant, form_id, {"note": "Buy <b>now</b>"})
    (mail,) = smtp.wait_for(address)
    (found,) = (one for one in Submission.objects.filter(organization=tenant.organization))
    assert found.public_id == submission_id
    return found, mail


def test_spam_link__opened__does_nothing_and_pressed__marks_the_submission(api: Client, smtp: MailReceiver) -> None:
    tenant = make_tenant()
    submission, mail = mailed(api, smtp, tenant)
    page = api.get(link_in(mail, "spam"))
    assert (page.status, "Mark this submission as spam?" in text_of(page)) == (200, True)
    assert ("Buy" in page.text, page.headers["Referrer-Policy"]) == (False, "no-referrer")
    submission.refresh_from_db()
    assert submission.spam is False
    for _ in range(2):  # pressed again, it says the same
        done = press(api, mail, "spam")
        assert (done.status, "Marked as spam" in text_of(done)) == (200, True)
    submission.refresh_from_db()
    assert (submission.spam, submission.spam_reasons) == (True, ["marked as spam"])
    event = AuditEvent.objects.get(organization=tenant.organization, action="submissions.marked_spam")
    assert (event.actor, event.subject) == ("A visitor", submission.public_id)


@pytest.mark.parametrize("end", ["removed", "stopped", "forged", "deleted"])
def test_spam_link__of_one_who_is_no_longer_mailed__is_no_longer_valid(
    api: Client, smtp: MailReceiver, end: str
) -> None:
    tenant = make_tenant()
    submission, mail = mailed(api, smtp, tenant)
    path = link_in(mail, "spam")
    if end == "removed":
        Form.objects.filter(pk=submission.form_id).update(notification_recipients=[tenant.owner.email])
    elif end == "stopped":
        press(api, mail, "stop")
    elif end == "forged":
        path = path.replace("/spam/", "/spam/x") if submission.spam else path[:-1] + ("A" if path[-1] != "A" else "B")
    else:
        api.delete(f"/api/submissions/{submission.public_id}", tenant.key)
    answer = api.post(path, data="", headers={"Content-Type": "application/x-www-form-urlencoded"})
    assert (answer.status, "no longer valid" in text_of(answer)) == (404, True)
    assert not Submission.objects.filter(pk=submission.pk, spam=True).exists()


def test_spam_link__its_token__is_not_that_of_another_link(api: Client, smtp: MailReceiver) -> None:
    submission, mail = mailed(api, smtp, make_tenant())
    stop = link_in(mail, "stop").rpartition("/")[2]
    assert api.post(f"/mails/spam/{stop}").status == 404
    assert api.post(f"/mails/stop/{link_in(mail, 'spam').rpartition('/')[2]}").status == 404
    submission.refresh_from_db()
    assert submission.spam is False
