"""Posts by `fetch` and `sendBeacon` from another origin, as Chromium makes them (docs/contract.md 6)."""

import pytest

from tests.services.waiting import eventually
from tests.support.chromium.visitor import Visitor

FETCH = """async ([url, credentials]) => {
  const answer = await fetch(url, { method: "POST", credentials, body: new URLSearchParams({ name: "Ada" }) });
  return [answer.status, (await answer.json()).success];
}"""
BEACONS = {
    "parameters": 'new URLSearchParams({ name: "Ada" })',
    "form data": '(() => { const data = new FormData(); data.append("name", "Ada"); return data; })()',
    "a text with JSON": 'JSON.stringify({ name: "Ada" })',
    "a blob of JSON": 'new Blob([JSON.stringify({ name: "Ada" })], { type: "application/json" })',
}


@pytest.mark.parametrize("credentials", ["omit", "include"])
def test_fetch__from_another_origin__reads_the_answer(plain_visitor: Visitor, credentials: str) -> None:
    page = plain_visitor.open(tag="")

    answer = page.evaluate(FETCH, [f"{plain_visitor.service_url}/f/{plain_visitor.form_id}", credentials])

    assert answer == [201, True]
    assert plain_visitor.stored() == [{"name": "Ada"}]


@pytest.mark.parametrize("body", BEACONS.values(), ids=BEACONS)
def test_beacon__as_the_page_ends__is_stored(plain_visitor: Visitor, body: str) -> None:
    page = plain_visitor.open(tag="")
    address = f"{plain_visitor.service_url}/f/{plain_visitor.form_id}"

    page.evaluate(f"addEventListener('pagehide', () => navigator.sendBeacon({address!r}, {body}))")
    page.goto("about:blank")

    eventually(lambda: plain_visitor.stored() == [{"name": "Ada"}])
