"""Viewers read and export what members do, and change nothing."""

from urllib.parse import urlsplit

import pytest

from config.base.ids import Prefix, decode_id
from keys.models import Membership
from submissions.lifecycle.spam_links import spam_url
from submissions.models import Submission
from tests.services.client import Client
from tests.services.receivers import MailReceiver
from tests.support.browser import Browser, logged_in, member_of, person_of, place, text_of
from tests.support.mail_links import link_in, text_part
from tests.support.rows import put, wait_until_dispatched
from tests.support.submitting import submit_and_get_id
from tests.support.tenants import Tenant


@pytest.fixture
def viewer(api: Client, tenant: Tenant) -> Browser:
    return logged_in(api, member_of(tenant.organization, "viewer"))


def is_read(public_id: str, tenant: Tenant) -> bool:
    wait_until_dispatched(tenant)
    return {row.public_id: row.is_read for row in Submission.objects.filter(organization=tenant.organization)}[
        public_id
    ]


def test_submission__opened_by_a_viewer__stays_unread(tenant: Tenant, viewer: Browser, member: Browser) -> None:
    submission = put(tenant, tenant.default_form_id, {"message": "Hello"})
    for address in (f"submissions/{submission}", f"submissions?open={submission}"):
        page = viewer.get(place(tenant, address))
        assert (page.status, "Hello" in page.text) == (200, True)
        assert not is_read(submission, tenant)
    member.get(place(tenant, f"submissions/{submission}"))
    assert is_read(submission, tenant)


def test_chosen_submissions__of_a_viewer__are_exported_and_not_changed(tenant: Tenant, viewer: Browser) -> None:
    submission = put(tenant, tenant.default_form_id, {"message": "Hello"})
    act, page = place(tenant, "submissions/act"), place(tenant, "submissions")
    for do in ("read", "unread", "spam", "not-spam", "release", "delete", "delete-now", ""):
        answer = viewer.post(act, form=page, do=do, id=submission)
        assert (answer.status, "read and export, and change nothing" in text_of(answer)) == (403, True)
    everything = viewer.post(act, form=page, do="delete-now", newest=submission, all="on", seen="0")
    assert everything.status == 403
    row = Submission.objects.get(organization=tenant.organization)
    assert (row.public_id, row.spam, row.is_read) == (submission, False, False)
    exported = viewer.post(act, form=page, do="export", id=submission, format="ndjson")
    assert (exported.status, exported.text.count("\n"), "Hello" in exported.text) == (200, 1, True)


@pytest.mark.parametrize(
    "page", ["", "forms", "forms/{form}", "forms/{form}/build", "forms/{form}/settings", "submissions/{submission}"]
)
def test_page__of_a_viewer__offers_no_change(tenant: Tenant, viewer: Browser, member: Browser, page: str) -> None:
    form = tenant.form(name="Contact")
    names = {"form": form, "submission": put(tenant, form, {"message": "Hello"})}
    seen, theirs = (browser.get(place(tenant, page.format(**names))) for browser in (viewer, member))
    assert (seen.status, theirs.status) == (200, 200)
    for button in ("New form", "Duplicate", "Archive…", "Send a test submission", "Mark as spam", "Delete…"):
        assert button not in text_of(seen)
    # The inputs of settings are shown, and cannot be used.
    is_edited = page.endswith(("build", "settings"))
    assert ('class="editing" disabled' in " ".join(seen.text.split())) is is_edited
    assert 'class="editing" disabled' not in " ".join(theirs.text.split())


def test_spam_link__of_a_viewer__marks_nothing(api: Client, tenant: Tenant, smtp: MailReceiver) -> None:
    viewer, member = (member_of(tenant.organization, role) for role in ("viewer", "member"))
    form_id = tenant.form(notification_recipients=[viewer.email, member.email])
    submission = submit_and_get_id(api, tenant, form_id)
    assert "Mark as spam" not in text_part(smtp.wait_for(viewer.email)[0])
    assert link_in(smtp.wait_for(member.email)[0], "spam")
    before = spam_url(submission, viewer.email)
    for method in ("GET", "POST"):
        assert api.request(method, urlsplit(before).path).status == 404
    assert not Submission.objects.get(pk=decode_id(Prefix.SUBMISSION, submission)).spam


def test_invitation__as_viewer__makes_one(api: Client, tenant: Tenant) -> None:
    owner, guest = logged_in(api, person_of(tenant)), member_of(tenant.organization, "member")
    members, row = place(tenant, "members"), Membership.objects.get(user=guest)
    assert "Viewer: reads and exports submissions, changes nothing" in text_of(owner.get(members))
    owner.post(f"{members}/{row.pk}/role", form=members, role="viewer")
    row.refresh_from_db()
    assert row.role == "viewer"
    theirs = logged_in(api, guest)
    assert theirs.get(place(tenant, "forms/new")).status == 403
    assert theirs.get(place(tenant, "forms")).status == 200
