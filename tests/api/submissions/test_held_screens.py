"""Held submissions in the dashboard: the sentence, the badge, the filter and the button; the hour on the overview."""

import pytest

from config.base.ids import Prefix, decode_id
from forms_app.models import Form
from keys.models import HourMark, Organization
from submissions.models import Submission
from submissions.receiving.insert import Hold, store
from submissions.receiving.parse_body import Intake
from tests.services.client import Client
from tests.support.browser import Browser, logged_in, markup_of, member_of, place, text_of
from tests.support.tenants import Tenant, make_tenant

pytestmark = pytest.mark.on_sqlite  # pages are the same over every database


@pytest.fixture
def tenant() -> Tenant:
    """Return an organization without room for pages in any hour, so that nothing is released meanwhile."""
    tenant = make_tenant()
    Organization.objects.filter(pk=tenant.organization.pk).update(rate_limit=1)
    return tenant


@pytest.fixture
def browser(api: Client, tenant: Tenant) -> Browser:
    return logged_in(api, member_of(tenant.organization, "member"))


def hold(form_id: str) -> Submission:
    form = Form.objects.get(pk=decode_id(Prefix.FORM, form_id))
    intake = Intake({"n": "kept back"}, {}, {}, {}, [])
    return Submission.objects.get(pk=store(form, intake, {}, hold=Hold("quota", most=9)).id)


def test_held__list_form_and_overview__say_so_and_lead_there(tenant: Tenant, browser: Browser) -> None:
    form_id = tenant.form()
    held = hold(form_id)

    for page in ("", f"forms/{form_id}", "submissions"):
        text = text_of(browser.get(place(tenant, page)))
        assert "1 submission is held." in text, page
        assert "View and release them" in text
    listed = markup_of(browser.get(place(tenant, "submissions?held=on")))
    assert held.public_id in listed
    assert '<span class="state warn">Held</span>' in listed


def test_held__its_page__explains_and_releases_it(tenant: Tenant, browser: Browser) -> None:
    held = hold(tenant.form())
    path = place(tenant, f"submissions/{held.public_id}")
    page = text_of(browser.get(path))
    assert "Held, not delivered yet." in page
    assert "Waiting for room in the hour" in page

    answer = browser.post(place(tenant, "submissions/act"), form=path, id=held.public_id, do="release")

    assert "1 submission is released and delivered like new ones." in text_of(browser.follow(answer))
    held.refresh_from_db()
    assert held.held == ""
    text = text_of(browser.get(path))
    assert "No longer held" in text
    assert "Marked as not spam" not in text


def test_release__of_another_organization__changes_nothing(tenant: Tenant, browser: Browser) -> None:
    other = make_tenant()
    Organization.objects.filter(pk=other.organization.pk).update(rate_limit=1)
    held = hold(other.form())

    hold(tenant.form())  # so that the list has the button
    act = place(tenant, "submissions/act")
    browser.post(act, form=place(tenant, "submissions"), id=held.public_id, do="release")

    held.refresh_from_db()
    assert held.held == "quota"


def test_overview__without_a_mark__has_no_alert(tenant: Tenant, browser: Browser) -> None:
    assert 'role="alert"' not in markup_of(browser.get(place(tenant)))
    HourMark.objects.create(organization=tenant.organization, percent=80)
    assert "80 % of an hour" in text_of(browser.get(place(tenant)))
