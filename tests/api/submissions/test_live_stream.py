"""The live stream over HTTP: who sees which events, how lost events are sent again, the cost of a hundred viewers."""

import datetime as dt
import http.client
import json
import math
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core import signing

from config.base.ids import Prefix, decode_id, encode_id, first_id_of
from config.base.times import now
from config.supervision.ports import allow_open_files
from keys.models import Membership
from submissions.live.tokens import SALT, live_token
from tests.faults import processes
from tests.services.application import Application
from tests.services.client import Client
from tests.services.waiting import eventually
from tests.support.browser import Browser, logged_in, member_of, person_of, place
from tests.support.live_stream import Stream
from tests.support.rows import put
from tests.support.submitting import submit_and_get_id
from tests.support.tenants import Tenant, make_tenant

VIEWERS = 100
BACKLOG = 1_024  # connections that the server takes by default


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def token_of(tenant: Tenant, form_id: str = "") -> str:
    form = decode_id(Prefix.FORM, form_id) if form_id else None
    return live_token(tenant.organization.pk, form, tenant.owner.pk)


def told_until_now(stream: Stream, api: Client, tenant: Tenant, form_id: str = "") -> list[str]:
    """Return the ids that a stream has sent, in order. One more submission, the last, shows that nothing is missing."""

    def last_has_come() -> bool:
        assert last in [event.id for event in stream.events], f"only {stream.events}"
        return True

    last = submit_and_get_id(api, tenant, form_id, {"note": "the last one"})
    eventually(last_has_come)
    return [event.id for event in stream.events][:-1]


def refusal(port: int, path: str, method: str = "GET") -> tuple[int, dict[str, str], str]:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode()


def test_stream__a_submission__appears_with_its_values_cut_short(
    api: Client, service: Application, tenant: Tenant
) -> None:
    form_id = tenant.form(name="Contact")
    with Stream(service.events_port, token_of(tenant)) as stream:
        hostile = "</script>\n\ndata: x\u2028" + "x" * 300
        pk = submit_and_get_id(api, tenant, form_id, {"name": "Ada", "note": hostile, "_replyto": "secret@example.com"})
        event = stream.wait_for(1)[0]
        assert (event.id, event.name) == (pk, "submission")
        created_at = event.data.pop("createdAt")
        assert created_at.endswith("Z")
        assert event.data == {
            "id": pk,
            "formId": form_id,
            "formName": "Contact",
            "held": None,
            "values": {"name": "Ada", "note": hostile[:200]},
        }


def test_stream__of_one_form__shows_that_form_alone_and_never_spam_or_others(
    api: Client, service: Application, tenant: Tenant
) -> None:
    form_id, other = tenant.form(), make_tenant()
    with Stream(service.events_port, token_of(tenant, form_id)) as stream:
        submit_and_get_id(api, tenant, values={"note": "to the default form"})
        submit_and_get_id(api, other, values={"note": "to another organization"})
        api.post(f"/api/submit?formId={form_id}", tenant.key, json={"note": "a robot", "_gotcha": "x"})
        wanted = submit_and_get_id(api, tenant, form_id, {"note": "wanted"})
        assert told_until_now(stream, api, tenant, form_id) == [wanted]


@pytest.mark.parametrize("by_header", [True, False])
def test_stream__after_a_lost_connection__brings_what_was_missed_once_and_in_order(
    api: Client, service: Application, tenant: Tenant, by_header: bool
) -> None:
    seen, *missed = [submit_and_get_id(api, tenant, values={"number": str(number)}) for number in range(4)]
    options = {"Last_Event_ID": seen} if by_header else {"after": seen}
    with Stream(service.events_port, token_of(tenant), **options) as stream:
        assert [event.id for event in stream.wait_for(3)] == missed
        live = submit_and_get_id(api, tenant, values={"number": "live"})
        stream.wait_for(4)
        assert told_until_now(stream, api, tenant) == [*missed, live]


def test_stream__both_places_named__believes_the_header(api: Client, service: Application, tenant: Tenant) -> None:
    first, second, third = (submit_and_get_id(api, tenant, values={"number": str(number)}) for number in range(3))
    with Stream(service.events_port, token_of(tenant), after=first, Last_Event_ID=second) as stream:
        assert told_until_now(stream, api, tenant) == [third]


def test_stream__away_for_too_long__is_told_to_load_the_list_anew(service: Application, tenant: Tenant) -> None:
    long_ago = encode_id(Prefix.SUBMISSION, first_id_of(now() - dt.timedelta(hours=1)))
    with Stream(service.events_port, token_of(tenant), after=long_ago) as stream:
        assert [event.name for event in stream.wait_for(1)] == ["reset"]
        assert stream.ended.wait(10)


@pytest.mark.parametrize("after", ["nonsense", "sub_", "frm_" + "0" * 26])
def test_stream__after_something_that_never_was__begins_now(
    api: Client, service: Application, tenant: Tenant, after: str
) -> None:
    put(tenant, tenant.default_form_id, {"note": "before"}, now() - dt.timedelta(seconds=5))
    with Stream(service.events_port, token_of(tenant), after=after) as stream:
        assert stream.answer.status == 200
        assert told_until_now(stream, api, tenant) == []


def test_stream__after_the_end_of_time__is_answered(service: Application, tenant: Tenant) -> None:
    with Stream(service.events_port, token_of(tenant), after="sub_7" + "z" * 25) as stream:
        assert stream.answer.status == 200


def test_stream__for_one_that_comes_back__tells_the_others_nothing_again(
    api: Client, service: Application, tenant: Tenant
) -> None:
    put(tenant, tenant.default_form_id, {"note": "sent long ago"}, now() - dt.timedelta(minutes=1))
    token = token_of(tenant)
    before = encode_id(Prefix.SUBMISSION, first_id_of(now() - dt.timedelta(minutes=2)))
    with Stream(service.events_port, token) as present:
        first = submit_and_get_id(api, tenant, values={"note": "first"})
        present.wait_for(1)
        with Stream(service.events_port, token, after=before) as back:
            assert len(back.wait_for(2)) == 2
            last = submit_and_get_id(api, tenant, values={"note": "last"})
            assert [event.id for event in present.wait_for(2)] == [first, last]


@pytest.mark.on_sqlite
def test_stream__of_one_too_many__is_told_to_come_back_until_another_leaves(
    start_service: Callable[..., Application], tenant: Tenant
) -> None:
    port, token = start_service("events", EVENTS_MAX_VIEWERS="1").events_port, token_of(tenant)
    with Stream(port, token):
        status, headers, body = refusal(port, f"/events?token={token}")
        assert (status, json.loads(body)["error"]) == (503, "service_unavailable")
        assert int(headers["retry-after"]) > 0

    def is_let_in() -> bool:
        with Stream(port, token) as stream:
            return stream.answer.status == 200

    assert eventually(is_let_in)


def test_stream__more_missed_than_is_replayed__is_told_to_load_the_list_anew(
    service: Application, tenant: Tenant
) -> None:
    moment = now()
    for number in range(201):
        put(tenant, tenant.default_form_id, {"n": str(number)}, moment - dt.timedelta(seconds=60 + number))
    before = encode_id(Prefix.SUBMISSION, first_id_of(moment - dt.timedelta(minutes=5)))
    with Stream(service.events_port, token_of(tenant), after=before) as stream:
        assert [event.name for event in stream.wait_for(1)] == ["reset"]


def test_stream__committed_late__is_told_all_the_same(api: Client, service: Application, tenant: Tenant) -> None:
    with Stream(service.events_port, token_of(tenant)) as stream:
        newer = submit_and_get_id(api, tenant, values={"note": "newer"})
        stream.wait_for(1)
        late = put(tenant, tenant.default_form_id, {"note": "late"}, now() - dt.timedelta(seconds=4))
        stream.wait_for(2)
        assert told_until_now(stream, api, tenant) == [newer, late]


@pytest.mark.on_sqlite
def test_stream__at_its_token_s_end__says_so_and_closes(
    start_service: Callable[..., Application], tenant: Tenant
) -> None:
    port = start_service("events", EVENTS_TOKEN_SECONDS="2").events_port
    watched = [str(tenant.organization.pk), "", str(tenant.owner.pk), math.ceil(time.time()) + 2]
    with Stream(port, signing.dumps(watched, salt=SALT)) as stream:
        assert [event.name for event in stream.wait_for(1)] == ["end"]
        assert stream.ended.wait(10)


@pytest.mark.on_sqlite
@pytest.mark.parametrize("kind", ["none", "nonsense", "forged", "expired", "another salt"])
def test_stream__without_a_good_token__is_refused(service: Application, tenant: Tenant, kind: str) -> None:
    watched = [
        str(tenant.organization.pk),
        "",
        str(tenant.owner.pk),
        int(time.time()) + (-5 if kind == "expired" else 60),
    ]
    good = signing.dumps(watched, salt=SALT)
    token = {"none": "", "nonsense": "x", "forged": good[:-3] + "AAA", "another salt": signing.dumps(watched, salt="x")}
    status, _, body = refusal(service.events_port, f"/events?token={token.get(kind, good)}")
    assert (status, json.loads(body)["error"]) == (401, "invalid_token")
    assert good not in body


@pytest.mark.on_sqlite
def test_stream__other_paths_and_methods__are_refused(service: Application, tenant: Tenant) -> None:
    port = service.events_port
    assert refusal(port, "/healthz")[::2] == (200, "ok")
    assert refusal(port, "/dashboard/")[0] == 404
    for method in ("POST", "HEAD", "OPTIONS"):
        assert refusal(port, f"/events?token={token_of(tenant)}", method)[0] == 405
    assert refusal(port, "/events?" + "&".join(f"a{number}=1" for number in range(50)))[0] == 401


@pytest.mark.on_sqlite
def test_stream__headers__allow_our_own_origin_alone_and_no_storing(service: Application, tenant: Tenant) -> None:
    with Stream(service.events_port, token_of(tenant), Origin="https://evil.example") as stream:
        headers = stream.answer.headers
        assert headers["Content-Type"] == "text/event-stream"
        assert headers["Access-Control-Allow-Origin"] == service.base_url
        assert "Access-Control-Allow-Credentials" not in headers
        assert (headers["Cache-Control"], headers["X-Accel-Buffering"]) == ("no-store", "no")


def threads_of_the_events_process(service: Application) -> int:
    """Return the threads of `manage.py events` and of every process that it has started."""
    parents = {int(path.name): parent_of(path) for path in Path("/proc").iterdir() if path.name.isdecimal()}
    ours = {
        pid
        for pid, parent in parents.items()
        if "events" in processes.command(pid).split() and parent == web_pid(service)
    }
    assert ours, "`serve` has a child that runs `events`"
    while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return sum(len(list(Path(f"/proc/{pid}/task").iterdir())) for pid in ours)


def web_pid(service: Application) -> int:
    return service.processes["web"].popen.pid


def parent_of(path: Path) -> int:
    try:
        return int((path / "stat").read_text().rpartition(") ")[2].split()[1])
    except OSError:
        return 0


def test_stream__a_hundred_open_views__cost_no_thread(api: Client, service: Application, tenant: Tenant) -> None:
    token = token_of(tenant)
    with ExitStack() as stack:
        first = stack.enter_context(Stream(service.events_port, token))
        submit_and_get_id(api, tenant, values={"note": "warm"})  # starts the reader's one thread
        first.wait_for(1)
        before = threads_of_the_events_process(service)
        streams = [stack.enter_context(Stream(service.events_port, token)) for _ in range(VIEWERS)]
        pk = submit_and_get_id(api, tenant, values={"note": "to everybody"})
        for stream in streams:
            assert stream.wait_for(1)[-1].id == pk
        assert threads_of_the_events_process(service) == before


@pytest.mark.on_sqlite
def test_stream__of_more_than_a_thousand__leaves_the_process_answering(
    start_service: Callable[..., Application], tenant: Tenant
) -> None:
    port, token = start_service("events").events_port, token_of(tenant)
    allow_open_files(2 * BACKLOG)
    asked = f"GET /events?token={token} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    with ExitStack() as stack:
        for _ in range(BACKLOG + 10):
            stream = stack.enter_context(closing(socket.create_connection(("127.0.0.1", port), timeout=10)))
            stream.sendall(asked)
            assert stream.recv(15) == b"HTTP/1.1 200 OK"
        assert refusal(port, "/healthz")[0] == 200


def issued_token(browser: Browser, tenant: Tenant) -> str:
    """Return the token that the dashboard gives to a person."""
    url = browser.get(place(tenant, "submissions/live")).json()["url"]
    return str(parse_qs(urlsplit(url).query)["token"][0])


def test_stream__token_of_somebody_who_logged_out__opens_nothing(
    api: Client, service: Application, tenant: Tenant
) -> None:
    owner = logged_in(api, person_of(tenant))
    token = issued_token(owner, tenant)
    with Stream(service.events_port, token) as stream:
        assert stream.answer.status == 200
    assert owner.post("/account/logout/", form=place(tenant)).status == 302
    status, _, body = refusal(service.events_port, f"/events?token={token}")
    assert (status, json.loads(body)["error"]) == (401, "invalid_token")


def test_stream__token_of_somebody_who_was_removed__opens_nothing(
    api: Client, service: Application, tenant: Tenant
) -> None:
    member = member_of(tenant.organization, "member")
    token = issued_token(logged_in(api, member), tenant)
    with Stream(service.events_port, token) as stream:
        assert stream.answer.status == 200
    Membership.objects.get(user=member).delete()
    assert refusal(service.events_port, f"/events?token={token}")[0] == 401


def test_stream__more_than_ten_of_one_person__leaves_room_for_others(
    api: Client, service: Application, tenant: Tenant
) -> None:
    token = issued_token(logged_in(api, person_of(tenant)), tenant)
    other = issued_token(logged_in(api, member_of(tenant.organization, "member")), tenant)
    with ExitStack() as stack:
        streams = [stack.enter_context(Stream(service.events_port, token)) for _ in range(10)]
        assert {stream.answer.status for stream in streams} == {200}
        status, headers, body = refusal(service.events_port, f"/events?token={token}")
        assert (status, json.loads(body)["error"], headers["retry-after"]) == (429, "rate_limited", "10")
        assert stack.enter_context(Stream(service.events_port, other)).answer.status == 200


@pytest.mark.on_sqlite
def test_stream__more_than_an_organizations_share__leaves_room_for_other_organizations(
    api: Client, start_service: Callable[..., Application], tenant: Tenant
) -> None:
    port = start_service("events", EVENTS_PER_ORGANIZATION="2").events_port
    people = [person_of(tenant), *(member_of(tenant.organization, "member") for _ in range(2))]
    tokens = [issued_token(logged_in(api, person), tenant) for person in people]
    stranger = make_tenant()
    other = issued_token(logged_in(api, person_of(stranger)), stranger)
    with Stream(port, tokens[0]), Stream(port, tokens[1]), Stream(port, other) as last:
        assert last.answer.status == 200
        assert refusal(port, f"/events?token={tokens[2]}")[0] == 429
