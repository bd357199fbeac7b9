"""The switch "Test data": a session sees only test submissions, or only live ones (docs/contract.md 12.8)."""

import dataclasses
import io
import json
import zipfile

import pytest

from config.base.ids import Prefix, decode_id
from config.base.times import now
from keys.members import change_seen_forms
from keys.models import AuditEvent, Membership
from submissions.models import Submission
from tests.services.client import Answer, Client
from tests.support.browser import Browser, logged_in, markup_of, member_of, person_of, place, text_of
from tests.support.deliveries import make_delivery
from tests.support.posted_files import PDF, file_field, post_files
from tests.support.replies import ALL_SIX
from tests.support.rows import wait_until_dispatched
from tests.support.submitting import submit
from tests.support.tenants import Tenant, make_tenant, text_field
from tests.support.webhooks import EVENTS
from webhooks.models import Receiver

BANNER = "Submissions, exports and deliveries are test data. Overviews and figures are live."
MARKS = {"live": "walrus", "test": "zebra"}
PEOPLE = ("owner", "member", "viewer", "limited")


@dataclasses.dataclass(frozen=True, slots=True)
class Scene:
    """A form with a live and a test submission, each with its mark and a recipient's mail."""

    tenant: Tenant
    form: str
    ids: dict[str, str]


def switch(browser: Browser, tenant: Tenant, *, test: bool, **values: str) -> Answer:
    on = {"test": "on"} if test else {}
    return browser.post(place(tenant, "test-data"), form=place(tenant, "submissions"), **on, **values)


@pytest.fixture
def scene(api: Client, tenant: Tenant) -> Scene:
    form = tenant.form(fields=[text_field("message", required=False), file_field("photo")])
    ids = {}
    for mode, query in {"live": "", "test": f"?test={tenant.test_publishable}"}.items():
        parts = [("message", None, MARKS[mode].encode()), ("photo", f"{MARKS[mode]}.pdf", PDF)]
        answer = post_files(api, f"{form}{query}", parts)
        assert answer.status in (200, 201), answer.text
        ids[mode] = answer.json()["data"]["id"]
    wait_until_dispatched(tenant)
    return Scene(tenant, form, ids)


@pytest.fixture(params=PEOPLE)
def reader(request: pytest.FixtureRequest, api: Client, scene: Scene) -> Browser:
    if request.param == "owner":
        return logged_in(api, person_of(scene.tenant))
    user = member_of(scene.tenant.organization, "member" if request.param == "limited" else request.param)
    if request.param == "limited":
        change_seen_forms(
            Membership.objects.get(user=user), [decode_id(Prefix.FORM, scene.form)], by=scene.tenant.owner
        )
    return logged_in(api, user)


def marks_in(text: str) -> set[str]:
    return {mode for mode, mark in MARKS.items() if mark in text}


def zipped(answer: Answer) -> str:
    return " ".join(zipfile.ZipFile(io.BytesIO(answer.body)).namelist())


def test_switch__of_every_reader__shows_one_mode_at_a_time(scene: Scene, reader: Browser) -> None:
    pages = {
        "list": "submissions",
        "list of a form": f"submissions?form={scene.form}",
        "everything": "submissions?spam=all",
        "search": f"submissions?q={{mark}}&form={scene.form}",
        "panel": "submissions?open={id}",
    }

    def seen(name: str, mode: str) -> set[str]:
        path = pages[name].format(mark=MARKS[mode], id=scene.ids[mode])
        answer = reader.get(place(scene.tenant, path))
        assert answer.status == 200
        return {each for each, pk in scene.ids.items() if f'value="{pk}"' in markup_of(answer)}

    def exported(mode: str) -> list[set[str]]:
        page, hidden = place(scene.tenant, "submissions/export"), {"test": "on"} if mode == "test" else {}
        rows = reader.post(f"{page}/run", form=page, format="ndjson", **hidden)
        files = reader.post(f"{page}/files", form=page, **hidden)
        act, listed = place(scene.tenant, "submissions/act"), place(scene.tenant, "submissions")
        chosen = reader.post(act, form=listed, do="export", format="csv", id=list(scene.ids.values()), **hidden)
        assert (rows.status, files.status, chosen.status) == (200, 200, 200)
        return [marks_in(rows.text), marks_in(zipped(files)), marks_in(chosen.text)]

    for mode in ("live", "test", "live"):
        assert switch(reader, scene.tenant, test=mode == "test").status == 302
        assert {name: seen(name, mode) for name in pages} == {name: {mode} for name in pages}
        assert exported(mode) == [{mode}] * 3
        statuses = {each: reader.get(place(scene.tenant, f"submissions/{pk}")).status for each, pk in scene.ids.items()}
        assert statuses == {each: 200 if each == mode else 404 for each in MARKS}
        found = {each: text_of(reader.get(place(scene.tenant, f"find?q={pk}"))) for each, pk in scene.ids.items()}
        assert {each for each, text in found.items() if "Submission of" in text} == {mode}
        home = reader.get(place(scene.tenant))
        assert (BANNER in text_of(home), "Show live data" in text_of(home)) == ((mode == "test",) * 2)


def test_banner__on_every_page_of_the_session__ends_with_it(api: Client, scene: Scene) -> None:
    user = person_of(scene.tenant)
    browser, other = logged_in(api, user), logged_in(api, user)
    switch(browser, scene.tenant, test=True)
    for path in ("", "submissions", f"forms/{scene.form}", "keys", "members", "deliveries", "refused", "nothing/here"):
        answer = browser.get(place(scene.tenant, path))
        assert answer.status == 404 or BANNER in text_of(answer), path
    assert BANNER in text_of(browser.get("/dashboard/account"))
    assert BANNER not in text_of(other.get(place(scene.tenant)))
    browser.post("/account/logout/", form=place(scene.tenant))
    assert BANNER not in text_of(logged_in(api, user).get(place(scene.tenant)))


@pytest.mark.parametrize(
    ("sent", "leads_to"),
    [
        ("", "submissions"),
        ("/dashboard/account", "/dashboard/account"),
        ("//evil.example/", "submissions"),
        ("https://evil.example/", "submissions"),
        ("/\\evil.example", "submissions"),
        ("javascript:alert(1)", "submissions"),
        ("submissions", "submissions"),
    ],
)
def test_switch__with_an_address__never_leads_to_another_site(
    scene: Scene, owner: Browser, sent: str, leads_to: str
) -> None:
    answer = switch(owner, scene.tenant, test=True, next=sent)
    expected = leads_to if leads_to.startswith("/") else place(scene.tenant, leads_to)
    assert (answer.status, answer.headers["Location"]) == (302, expected)


def test_switch__without_a_token_or_membership__is_refused(api: Client, scene: Scene, owner: Browser) -> None:
    path = place(scene.tenant, "test-data")
    assert api.post(path, data="test=on", headers={**owner.headers(), "Content-Type": "x"}).status == 403
    assert BANNER not in text_of(owner.get(place(scene.tenant)))
    stranger = logged_in(api, person_of(make_tenant()))
    assert stranger.post(path, form="/dashboard/account", test="on").status == 404
    assert owner.get(path).status == 405


@pytest.mark.parametrize("shown", ["live", "test"])
@pytest.mark.parametrize("do", ["delete-now", "spam", "delete", "export"])
def test_action__of_a_page_of_the_other_mode__reaches_nothing(
    scene: Scene, owner: Browser, shown: str, do: str
) -> None:
    """Two tabs: one shows tests with every row selected, in the other live data is switched on."""
    hidden = {"test": "on"} if shown == "test" else {}
    switch(owner, scene.tenant, test=shown == "live")
    page, act = place(scene.tenant, "submissions"), place(scene.tenant, "submissions/act")
    newest = max(scene.ids.values())
    for chosen in ({"id": list(scene.ids.values())}, {"newest": newest, "all": "on", "rows": "0", "seen": "0"}):
        answer = owner.post(act, form=page, do=do, format="csv", **chosen, **hidden)
        assert (answer.status, answer.headers["Location"]) == (302, page)
        assert "You switched between live and test data meanwhile. Nothing was done." in text_of(owner.get(page))
    for path in ("run", "files"):
        exported = owner.post(f"{page}/export/{path}", form=page, format="csv", **hidden)
        assert exported.status == 302
    rows = Submission.objects.filter(organization=scene.tenant.organization, spam=False)
    assert {row.public_id for row in rows} == set(scene.ids.values())


def test_new_rows__of_the_live_list__are_live_ones(scene: Scene, owner: Browser) -> None:
    query = "&".join(f"row={pk}" for pk in scene.ids.values())
    assert marks_in(owner.get(place(scene.tenant, f"submissions?{query}")).text) == {"live"}


def test_everything__of_test_data__is_deleted_alone(scene: Scene, owner: Browser) -> None:
    switch(owner, scene.tenant, test=True)
    page, act = place(scene.tenant, "submissions"), place(scene.tenant, "submissions/act")
    listed = markup_of(owner.get(page))
    assert '<input type="hidden" name="test" value="on">' in listed
    assert 'id="live"' not in listed
    chosen = {"newest": max(scene.ids.values()), "all": "on", "rows": "0", "test": "on"}
    asked = owner.post(act, form=page, do="delete", **chosen)
    assert 'name="test" value="on"' in markup_of(asked)
    owner.post(act, form=page, do="delete-now", **chosen)
    rows = Submission.objects.filter(organization=scene.tenant.organization)
    assert [row.public_id for row in rows] == [scene.ids["live"]]


def test_delivery_log__of_test_data__has_their_deliveries_alone(api: Client, tenant: Tenant, owner: Browser) -> None:
    form = tenant.form(notification_recipients=[tenant.owner.email])
    ids = {}
    for mode, key in {"live": tenant.key, "test": tenant.issue(*ALL_SIX, mode="test")}.items():
        ids[mode] = submit(api, key, form).json()["data"]["id"]
    wait_until_dispatched(tenant)
    for mode in ("live", "test"):
        switch(owner, tenant, test=mode == "test")
        for query in ("", f"?form={form}", "?channel=email"):
            page = owner.get(place(tenant, f"deliveries{query}"))
            assert {each for each, pk in ids.items() if f"submissions/{pk}" in page.text} == {mode}, query
    assert "Recorded" in text_of(page)
    assert "Send again" not in page.text
    story = owner.get(place(tenant, f"submissions/{ids['test']}"))
    assert "Attempt succeeded" not in story.text
    mail = text_of(story.text.partition('id="mail-dlv_')[2])
    assert f"To: {tenant.owner.email}" in mail
    assert "Subject: " in mail
    assert "a: 1" in mail


@pytest.mark.parametrize(
    ("mode", "shown", "seen"),
    [
        ("both", "live", {"live"}),
        ("both", "test", {"test"}),
        ("test", "live", {"live", "test"}),  # all of one that gets tests only
    ],
)
def test_log_of_a_destination__has_deliveries_of_the_mode_shown(
    api: Client, tenant: Tenant, owner: Browser, mode: str, shown: str, seen: set[str]
) -> None:
    form, key = tenant.form(), tenant.issue(*ALL_SIX, mode="test")
    ids = {of: submit(api, token, form).json()["data"]["id"] for of, token in (("live", tenant.key), ("test", key))}
    wait_until_dispatched(tenant)  # before there is a webhook, which would get them by itself
    body = {"formId": form, "url": "https://hooks.example.com/", "events": EVENTS, "mode": mode}
    hook = api.post("/api/webhooks", tenant.key, json=body).json()["data"]["id"]
    receiver = Receiver.objects.get(organization=tenant.organization)
    for of, status in (("live", "delivered"), ("test", "failed")):
        submission = Submission.objects.get(pk=decode_id(Prefix.SUBMISSION, ids[of]))
        make_delivery(receiver, submission=submission, status=status, finished_at=now())
    switch(owner, tenant, test=shown == "test")
    page = owner.get(place(tenant, f"destinations/{hook}")).text
    log = page.partition('id="log-list"')[2].partition("</table>")[0]
    assert {of for of, pk in ids.items() if f"submissions/{pk}" in log} == seen
    listed = text_of(owner.get(place(tenant, "destinations")))
    assert ("Failed" in listed, "Delivered" in listed) == ((True, False) if mode == "test" else (False, True))


def test_export__of_test_data__says_so_in_the_audit_trail(scene: Scene, owner: Browser) -> None:
    page = place(scene.tenant, "submissions/export")
    switch(owner, scene.tenant, test=True)
    owner.post(f"{page}/run", form=page, format="json", test="on")
    entry = AuditEvent.objects.filter(organization=scene.tenant.organization, action="submissions.exported").get()
    assert json.loads(json.dumps(entry.changes))["test"] == [None, "on"]
    assert "test" in text_of(owner.get(place(scene.tenant, "audit")))
