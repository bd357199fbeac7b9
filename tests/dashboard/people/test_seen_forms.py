"""
Members of chosen forms: no page, file, stream, export or mail shows them anything of another form.

Everything of the other form and of the organization has a mark. Five people follow every link of the dashboard, and
open every address of both forms; each answer is searched for the mark.
"""

import dataclasses
import secrets
from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.conf import settings
from django.urls import NoReverseMatch, reverse

from config.base.ids import Prefix, decode_id
from config.base.times import now
from forms_app.models import Form, Recipient
from keys.access_keys import issue_key
from keys.members import change_seen_forms
from keys.models import Invitation, Membership, Role, User
from submissions.models import Refusal, Submission, Tally
from tests.dashboard.people.crawler import crawl
from tests.services.application import Application
from tests.services.client import Answer, Client
from tests.services.receivers import MailReceiver
from tests.services.waiting import eventually
from tests.support.browser import logged_in, make_stale, member_of, person_of, place, text_of
from tests.support.deliveries import make_delivery
from tests.support.files.rows import picture, put_with_files
from tests.support.live_stream import Stream
from tests.support.rows import put, put_many, wait_until_dispatched
from tests.support.submitting import submit_and_get_id
from tests.support.tables.dashboard_table import IN_ORGANIZATION, Row
from tests.support.tenants import Tenant, make_tenant, text_field
from webhooks.models import Delivery
from webhooks.receivers.destinations import add_destination

# The names of ids in addresses that are of a form.
OF_FORMS = [("form_id",), ("submission_id",), ("file_id",), ("delivery_id",), ("form_id", "submission_id")]


@dataclasses.dataclass(frozen=True)
class Arranged:
    """A form and what belongs to it, all with the mark in its texts."""

    mark: str
    form_id: str
    submission_id: str
    spam_id: str
    file_id: str
    delivery_id: str

    @property
    def pk(self) -> Any:
        return decode_id(Prefix.FORM, self.form_id)

    def address(self, name: str, slug: str) -> str | None:
        """Return the address of this name and this form; None for one that names something else, or nothing."""
        for named in OF_FORMS:
            with suppress(NoReverseMatch):
                return reverse(f"dashboard:{name}", kwargs={"slug": slug, **{one: getattr(self, one) for one in named}})
        return None


def arrange(tenant: Tenant, mark: str) -> Arranged:
    """Return a form with submissions, spam, a file, deliveries and a refusal."""
    form_id = tenant.form(name=f"Form {mark}", fields=[text_field("message", label=f"Label {mark}", required=False)])
    files = put_with_files(tenant, form_id, [picture(f"{mark}.png")], {"message": f"With a file {mark}"})
    spam = put(tenant, form_id, {"message": f"Spam {mark}"}, spam=True)
    submission_id = put(tenant, form_id, {"message": f"Value {mark}"})
    wait_until_dispatched(tenant)
    submission = Submission.objects.get(pk=decode_id(Prefix.SUBMISSION, submission_id))
    delivery = make_delivery(f"to-{mark}@example.com", submission=submission, status="failed", finished_at=now())
    Refusal.objects.create(
        organization=tenant.organization,
        form_id=submission.form_id,
        hour=now().replace(minute=0, second=0, microsecond=0),
        code="origin_not_allowed",
        origin=f"https://{mark}.example",
        first_at=now(),
        last_at=now(),
        count=1,
        fingerprint=mark,
    )
    return Arranged(mark, form_id, submission_id, spam, files.files[0].public_id, delivery.public_id)


def furnish(tenant: Tenant, mark: str) -> None:
    """Make what belongs to the organization, and to no form."""
    issue_key(organization=tenant.organization, name=f"Key {mark}", by=None)
    config = {"url": f"http://127.0.0.1:9/{mark}"}
    add_destination(organization=tenant.organization, form=None, kind="ntfy", name=f"Team {mark}", config=config)
    colleague = User.objects.create_user(f"colleague-{mark}@example.com")
    Membership.objects.create(organization=tenant.organization, user=colleague, role="member")


@pytest.fixture(scope="module")
def arranged(service: Application) -> SimpleNamespace:  # noqa: ARG001 - its database is there
    tenant = make_tenant()
    own, other = (arrange(tenant, f"{name}{secrets.token_hex(6)}") for name in ("own", "other"))
    furnish(tenant, other.mark)
    return SimpleNamespace(tenant=tenant, own=own, other=other, home=place(tenant))


@pytest.fixture
def scene(arranged: SimpleNamespace, api: Client) -> SimpleNamespace:
    """Return both forms with people of this test: one person may open 20 expensive pages in a minute."""
    tenant = arranged.tenant
    member, viewer = (member_of(tenant.organization, role) for role in ("member", "viewer"))
    limited, limited_viewer = (member_of(tenant.organization, role) for role in ("member", "viewer"))
    for user in (limited, limited_viewer):
        change_seen_forms(Membership.objects.get(user=user), [arranged.own.pk], by=tenant.owner)
    owner = member_of(tenant.organization, "owner")
    people = {"owner": owner, "member": member, "viewer": viewer, "limited": limited, "limited_viewer": limited_viewer}
    inside = {name: logged_in(api, user) for name, user in people.items()}
    outsider = logged_in(api, person_of(make_tenant()))
    return SimpleNamespace(**vars(arranged), **inside, user=limited, outsider=outsider)


def starts(scene: SimpleNamespace) -> list[str]:
    """Return every address that names nothing, and what no link leads to: a new page is tried without a line here."""
    slug = scene.tenant.organization.slug
    queries = [f"submissions?form={one.form_id}&spam=all" for one in (scene.own, scene.other)]
    queries += [f"submissions?q={text}" for text in ("Value", scene.other.mark, scene.other.submission_id)]
    queries += [f"submissions?open={scene.other.submission_id}", f"submissions?row={scene.other.submission_id}"]
    queries += [f"find?q={text}" for text in ("form", scene.other.submission_id, scene.other.mark)]
    queries += ["submissions?spam=all", "submissions?undelivered=on", "deliveries?status=failed"]
    pages = []
    for name, row in IN_ORGANIZATION.items():
        with suppress(NoReverseMatch):
            pages += [reverse(f"dashboard:{name}", args=[slug])] if row.get else []
    return [*pages, "/dashboard/account", *(scene.home + query for query in queries)]


def answers_with(mark: str, found: dict[str, Answer]) -> list[str]:
    # An address that holds the mark is shown again by the page that it asks for, such as the words of a search.
    return [address for address, answer in found.items() if mark.encode() in answer.body and mark not in address]


def addresses(scene: SimpleNamespace, arranged: Arranged, method: str) -> Iterator[tuple[str, Row, str]]:
    slug = scene.tenant.organization.slug
    for name, row in IN_ORGANIZATION.items():
        path = arranged.address(name, slug) if getattr(row, method) else None
        if path:
            yield name, row, path


@pytest.mark.parametrize("person", ["limited", "limited_viewer"])
def test_links__of_a_person_of_chosen_forms__show_nothing_else(scene: SimpleNamespace, person: str) -> None:
    begun = starts(scene)
    found = crawl(getattr(scene, person), *begun)
    assert answers_with(scene.other.mark, found) == []
    assert [address for address, answer in found.items() if answer.status >= 500] == []
    # Every link that such a person is shown leads somewhere.
    assert [address for address, answer in found.items() if answer.status == 404 and address not in begun] == []
    shown = answers_with(scene.own.mark, found)
    assert len(shown) > 20, shown
    for page in ("", "forms", "submissions", "deliveries", "refused", f"submissions/{scene.own.submission_id}"):
        assert scene.home + page in shown


@pytest.mark.parametrize("person", ["owner", "member", "viewer"])
def test_pages__of_a_person_of_every_form__show_both(scene: SimpleNamespace, person: str) -> None:
    """The mark can be found, so the tests of those who must not see it can fail."""
    for page in ("", "forms", "submissions", "deliveries", "refused", "members", "destinations"):
        assert scene.other.mark in getattr(scene, person).get(scene.home + page).text, page


def test_links__of_an_outsider__show_neither(scene: SimpleNamespace) -> None:
    found = crawl(scene.outsider, *starts(scene))
    assert answers_with(scene.other.mark, found) == answers_with(scene.own.mark, found) == []


def test_addresses__of_another_form__are_404(scene: SimpleNamespace) -> None:
    for name, row, path in addresses(scene, scene.other, "get"):
        assert scene.limited.get(path).status == 404, name
        assert scene.owner.get(path).status == row.shown, name
    for name, row, path in addresses(scene, scene.other, "post"):
        assert scene.limited.post(path, form=scene.home, **row.data).status == 404, name


def test_addresses__of_no_form__are_404_by_default(scene: SimpleNamespace) -> None:
    """Pages for members of chosen forms have to say so; everything else is not there for them."""
    slug = scene.tenant.organization.slug
    for name in ("members", "plan", "destinations", "keys", "audit", "organization", "form-new", "opt-outs"):
        assert scene.limited.get(reverse(f"dashboard:{name}", args=[slug])).status == 404, name
    for name in ("members", "first-steps", "form-new", "audit-export"):
        path = reverse(f"dashboard:{name}", args=[slug])
        assert scene.limited.post(path, form=scene.home, email="x@example.com", name="New").status == 404, name
    duplicate = reverse("dashboard:form-duplicate", args=[slug, scene.own.form_id])
    assert scene.limited.post(duplicate, form=scene.home).status == 404


@pytest.mark.parametrize("do", ["read", "unread", "spam", "release", "delete-now"])
def test_chosen_submissions__of_another_form__are_not_changed(scene: SimpleNamespace, do: str) -> None:
    act, page = f"{scene.home}submissions/act", f"{scene.home}submissions"
    rows = Submission.objects.filter(form=scene.other.pk).order_by("pk")
    before = list(rows.values())
    scene.limited.post(act, form=page, do=do, id=[scene.other.submission_id, scene.other.spam_id])
    assert list(rows.values()) == before


def test_everything__of_a_person_of_chosen_forms__is_theirs_alone(api: Client) -> None:
    tenant = make_tenant()
    own, other = (tenant.form(name=name) for name in ("Own", "Other"))
    for form in (own, own, other, other):
        put(tenant, form, {"message": "Hello"})
    newest = put(tenant, other, {"message": "Hello"})
    limited = member_of(tenant.organization, "member")
    change_seen_forms(Membership.objects.get(user=limited), [decode_id(Prefix.FORM, own)], by=tenant.owner)
    browser, page = logged_in(api, limited), place(tenant, "submissions")
    answer = browser.post(f"{page}/act", form=page, do="spam", newest=newest, all="on", seen="0")
    assert "2 submissions are marked as spam" in text_of(browser.follow(answer))
    marked = Submission.objects.filter(organization=tenant.organization, spam=True)
    assert {row.form.public_id for row in marked.select_related("form")} == {own}


def test_figures__of_a_person_of_chosen_forms__count_theirs_alone(api: Client) -> None:
    tenant = make_tenant()
    own, other = (tenant.form(name=name) for name in ("Own", "Other"))
    put_many(tenant, own, [{"message": "Hello"}] * 2)
    put_many(tenant, other, [{"message": "Hello"}] * 41)
    for message in ("Spam one", "Spam two", "Spam three"):
        put(tenant, other, {"message": message}, spam=True)
    wait_until_dispatched(tenant)
    Tally.objects.filter(form=decode_id(Prefix.FORM, own)).update(delivered=5)
    Tally.objects.filter(form=decode_id(Prefix.FORM, other)).update(delivered=61, failed=17)
    limited = member_of(tenant.organization, "member")
    change_seen_forms(Membership.objects.get(user=limited), [decode_id(Prefix.FORM, own)], by=tenant.owner)
    browser, whole = logged_in(api, limited), logged_in(api, person_of(tenant))
    overview = text_of(browser.get(place(tenant)))
    for figure in ("Submissions today 2 2 in 30 days", "Spam, 30 days 0 % 0 caught", "24 hours 5 None failed"):
        assert figure in overview
    assert "Requests this hour" not in overview
    assert "Submissions today 46 46 in 30 days" in text_of(whole.get(place(tenant)))
    listed = text_of(browser.get(place(tenant, "submissions")))
    assert "Unread 2 " in listed
    assert "Unread 43 " in text_of(whole.get(place(tenant, "submissions")))
    for query, theirs, everything in (("", 2, 43), ("?spam=all", 2, 46), ("?q=hello", 2, 43)):
        for person, number in ((browser, theirs), (whole, everything)):
            assert f"{number} submissions" in text_of(person.get(place(tenant, f"submissions/export{query}")))


@pytest.mark.parametrize("chosen", ["csv", "json", "ndjson"])
def test_export__of_a_person_of_chosen_forms__has_their_rows(scene: SimpleNamespace, chosen: str) -> None:
    run, page = f"{scene.home}submissions/export/run", f"{scene.home}submissions/export"
    for query in ({}, {"spam": "all"}, {"q": scene.other.submission_id}):
        theirs = scene.limited.post(run, form=page, format=chosen, **query)
        assert (theirs.status, scene.other.mark in theirs.text) == (200, False)
    refused = scene.limited.post(run, form=page, format=chosen, form_=scene.other.form_id)
    assert (refused.status, refused.headers["Location"], scene.other.mark in refused.text) == (302, page, False)
    whole = scene.owner.post(run, form=page, format=chosen, spam="all")
    assert (scene.own.mark in whole.text, scene.other.mark in whole.text) == (True, True)
    act, listed = f"{scene.home}submissions/act", f"{scene.home}submissions"
    both = [scene.own.submission_id, scene.other.submission_id]
    selected = scene.limited.post(act, form=listed, do="export", format=chosen, id=both)
    assert (scene.own.mark in selected.text, scene.other.mark in selected.text) == (True, False)


def test_files__of_another_form__are_404(scene: SimpleNamespace) -> None:
    zipped = scene.limited.post(f"{scene.home}submissions/export/files", form=f"{scene.home}submissions/export")
    assert (scene.own.mark.encode() in zipped.body, scene.other.mark.encode() in zipped.body) == (True, False)
    for browser, own, other in ((scene.limited, 200, 404), (scene.viewer, 200, 200), (scene.outsider, 404, 404)):
        assert browser.get(f"/files/{scene.own.file_id}").status == own
        assert browser.get(f"/files/{scene.other.file_id}").status == other


def test_link_of_an_old_mail__to_another_form__is_404(scene: SimpleNamespace) -> None:
    assert scene.limited.get(f"/dashboard/submissions/{scene.own.submission_id}").status == 302
    assert scene.limited.get(f"/dashboard/submissions/{scene.other.submission_id}").status == 404
    assert scene.limited.get(f"/dashboard/submissions/{scene.other.spam_id}").status == 404


def test_stream__of_a_person_of_chosen_forms__has_theirs_and_ends_with_the_list(
    api: Client, service: Application
) -> None:
    tenant = make_tenant()
    own, other = tenant.form(name="Own"), tenant.form(name="Other")
    limited = member_of(tenant.organization, "viewer")
    membership = Membership.objects.get(user=limited)
    change_seen_forms(membership, [decode_id(Prefix.FORM, own)], by=tenant.owner)
    browser = logged_in(api, limited)

    def open_stream(query: str = "") -> Stream:
        url = browser.get(place(tenant, f"submissions/live{query}")).json()["url"]
        return Stream(service.events_port, parse_qs(urlsplit(url).query)["token"][0])

    with open_stream() as stream, open_stream(f"?form={other}") as of_other:
        submit_and_get_id(api, tenant, other)
        shown = submit_and_get_id(api, tenant, own)
        assert [event.id for event in stream.wait_for(1)] == [shown]
        assert [event.id for event in of_other.wait_for(1)] == [shown]
        change_seen_forms(membership, [decode_id(Prefix.FORM, other)], by=tenant.owner)
        assert stream.ended.wait(10), "the stream goes on although the list has changed"
        assert stream.events[-1].name == "reset"
    with open_stream() as stream:
        hidden, now_shown = submit_and_get_id(api, tenant, own), submit_and_get_id(api, tenant, other)
        assert [event.id for event in stream.wait_for(1)] == [now_shown]
        membership.delete()
        assert stream.ended.wait(10), "the stream goes on although its person is no member any more"
        assert hidden not in [event.id for event in stream.events]


def test_recipient__of_another_form__is_asked_as_a_stranger(api: Client, smtp: MailReceiver) -> None:
    tenant = make_tenant()
    limited = member_of(tenant.organization, "member")
    own, other = tenant.form(name="Own"), tenant.form(name="Other")
    change_seen_forms(Membership.objects.get(user=limited), [decode_id(Prefix.FORM, own)], by=tenant.owner)
    owner = logged_in(api, person_of(tenant))
    for form_id in (other, own):
        path = place(tenant, f"forms/{form_id}/notifications")
        assert owner.send(path, recipients=limited.email).status == 302
    (asked,) = smtp.wait_for(limited.email)
    assert asked.message["Subject"] == "Confirm that you want submissions by mail"
    submit_and_get_id(api, tenant, other)
    submit_and_get_id(api, tenant, own)
    assert smtp.wait_for(limited.email, 2)[1].message["Subject"] == "New submission: Own"
    assert Recipient.objects.get(form=decode_id(Prefix.FORM, other), email=limited.email).confirmed_at is None
    assert Delivery.objects.filter(target=limited.email, event="submission.created").count() == 1


def test_choosing__by_an_admin__asks_for_the_login_and_is_in_the_trail(api: Client) -> None:
    tenant = make_tenant()
    member, admin = member_of(tenant.organization, "member"), member_of(tenant.organization, "admin")
    form = Form.objects.get(organization=tenant.organization)
    row, owner = Membership.objects.get(user=member), Membership.objects.get(user=tenant.owner)
    browser = logged_in(api, admin)
    path = place(tenant, f"members/{row.pk}/forms")
    assert browser.send(path, seen="chosen").status == 400
    assert browser.send(path, seen="chosen", forms="01900000-0000-7000-8000-000000000000").status == 400
    answer = browser.send(path, seen="chosen", forms=str(form.pk))
    assert answer.status == 302
    assert "Sees 1 form: Inbox" in text_of(browser.get(place(tenant, "members")))
    row.refresh_from_db()
    assert row.form_ids == [str(form.pk)]
    trail = text_of(logged_in(api, person_of(tenant)).get(place(tenant, "audit")))
    assert f"changed the forms that a member sees: {member.email}" in trail
    assert form.public_id in trail
    assert browser.post(place(tenant, f"members/{owner.pk}/forms"), form=path, seen="all").status in (302, 404)
    owner.refresh_from_db()
    assert owner.form_ids is None
    make_stale(browser.cookies[settings.SESSION_COOKIE_NAME])
    assert "reauthenticate" in browser.get(path).headers["Location"]
    browser = logged_in(api, person_of(tenant))
    for role, chosen in (("viewer", [str(form.pk)]), ("admin", None)):
        members = place(tenant, "members")
        browser.post(f"{members}/{row.pk}/role", form=members, role=role)
        row.refresh_from_db()
        assert (row.role, row.form_ids) == (role, chosen)


def test_choosing__for_an_owner__is_refused(api: Client) -> None:
    tenant = make_tenant()
    other = Membership.objects.get(user=member_of(tenant.organization, "owner"))
    form = Form.objects.get(organization=tenant.organization)
    browser = logged_in(api, person_of(tenant))
    answer = browser.send(place(tenant, f"members/{other.pk}/forms"), seen="chosen", forms=str(form.pk))
    assert "Owners and admins see every form" in text_of(browser.follow(answer))
    other.refresh_from_db()
    assert other.form_ids is None


def test_invitation__to_chosen_forms__makes_such_a_member(api: Client) -> None:
    tenant = make_tenant()
    guest = person_of(make_tenant())
    own = tenant.form(name="Own")
    pk, browser, members = str(decode_id(Prefix.FORM, own)), logged_in(api, person_of(tenant)), place(tenant, "members")
    refused = browser.send(members, email=guest.email, role="admin", seen="chosen", forms=pk)
    assert (refused.status, "Owners and admins see every form" in text_of(refused)) == (400, True)
    assert browser.send(members, email=guest.email, role="viewer", seen="chosen", forms=pk).status == 302
    invitation = Invitation.objects.get(email=guest.email)
    browser.post(f"{members}/invitations/{invitation.pk}/resend", form=members)
    theirs = logged_in(api, guest)
    theirs.post("/dashboard/invitations", form="/dashboard/invitations", invitation=str(invitation.pk), do="join")
    row = Membership.objects.get(user=guest, organization=tenant.organization)
    assert (row.role, row.form_ids) == (Role.VIEWER, [pk])
    listed = text_of(theirs.get(place(tenant, "forms")))
    assert ("Own" in listed, "Inbox" in listed) == (True, False)


def test_last_form__archived_or_erased__leaves_a_calm_page(api: Client) -> None:
    tenant = make_tenant()
    own = tenant.form(name="Own")
    limited = member_of(tenant.organization, "member")
    change_seen_forms(Membership.objects.get(user=limited), [decode_id(Prefix.FORM, own)], by=tenant.owner)
    put(tenant, own, {"message": "Kept"})
    browser = logged_in(api, limited)
    Form.objects.filter(pk=decode_id(Prefix.FORM, own)).update(status="archived")
    assert "No forms" in text_of(browser.get(place(tenant, "forms")))
    assert "Kept" in browser.get(place(tenant, "submissions")).text
    Submission.objects.filter(form=decode_id(Prefix.FORM, own)).delete()
    Form.objects.filter(pk=decode_id(Prefix.FORM, own)).delete()
    for page in ("", "forms", "submissions", "deliveries", "refused", "submissions/export", "find"):
        assert browser.get(place(tenant, page)).status == 200, page
    assert eventually(lambda: browser.get(place(tenant, f"forms/{own}")).status == 404)
