"""Files that forms.js sends before the form: what the visitor sees, with answers of the service that a test plays."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import FilePayload, Page, Route, expect

from tests.support.chromium.accessibility import violations
from tests.support.chromium.copies import wait_for_copies
from tests.support.chromium.visitor import Visitor, no_connection, reply

FORM = (
    '<main><h1>Jobs</h1><form><label>Name <input name="name"></label><label>CV <input type="file" name="cv"></label>'
    "<button>Send</button></form></main>"
)
MANY = FORM.replace('name="cv"', 'name="cv" multiple')
WORDS: FilePayload = {"name": "CV.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.4 words"}
OTHER: FilePayload = {"name": "letter.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.4 a letter"}
WAKE = "dispatchEvent(new Event('online'))"
LINE_IS_DOWN = ["net::ERR", "Failed to load resource"]


def refusal(status: int, code: str, message: str, **headers: str) -> Callable[[Route], None]:
    details = [{"field": "cv", "code": code, "message": message}]
    return reply(status, json.dumps({"success": False, "message": "Not valid.", "details": details}), **headers)


def play_uploads(visitor: Visitor, *replies: Callable[[Route], Any]) -> list[str]:
    """Play these answers to the first files, and then ids: upl_1, upl_2 and so on. The list fills with the ids."""
    waiting, ids = list(replies), list[str]()

    def handle(route: Route) -> None:
        if route.request.method != "POST":
            route.fulfill(status=204, headers={"Access-Control-Allow-Origin": "*"})
        elif waiting:
            waiting.pop(0)(route)
        else:
            ids.append(f"upl_{len(ids) + 1}")
            reply(201, json.dumps({"success": True, "data": {"id": ids[-1]}}))(route)

    visitor.page.context.route(f"{visitor.service_url}/f/{visitor.form_id}/uploads", handle)
    return ids


def choose(page: Page, *files: FilePayload) -> None:
    page.locator("[name=cv]").set_input_files(list(files))


def send(visitor: Visitor, name: str = "Ada") -> None:
    visitor.page.locator("[name=name]").fill(name)
    visitor.page.get_by_role("button", name="Send", exact=True).click()


def rows(page: Page) -> Any:
    return page.locator("[data-fieldpost-file] [role=status]")


def test_chosen_file__goes_first__and_the_form_carries_its_id(visitor: Visitor) -> None:
    ids = play_uploads(visitor)
    page = visitor.open(FORM)
    choose(page, WORDS)
    send(visitor)
    expect(visitor.thanks).to_have_text("Submission received.")
    expect(rows(page)).to_have_count(0)
    assert (ids, visitor.stored()) == (["upl_1"], [{"name": "Ada", "cv": "upl_1"}])
    assert page.locator("[name=cv]").evaluate("input => input.files.length") == 0
    assert page.evaluate("sessionStorage.length") == 0, "nothing is left when the form was taken"


def test_two_files__go_one_after_the_other__and_are_a_list(visitor: Visitor) -> None:
    ids = play_uploads(visitor)
    page = visitor.open(MANY)
    bodies: list[Any] = []
    page.on("request", lambda one: bodies.append(one.post_data_json) if one.url.count("/api/submit") else None)
    choose(page, WORDS, OTHER)
    send(visitor)
    expect(visitor.thanks).to_be_visible()
    assert ids == ["upl_1", "upl_2"]
    assert bodies == [{"name": "Ada", "cv": ["upl_1", "upl_2"]}]


def test_form_without_a_chosen_file__loads_nothing_and_is_sent_as_ever(visitor: Visitor) -> None:
    loaded: list[str] = []
    visitor.page.on("request", lambda request: loaded.append(request.url))
    visitor.open(FORM)
    send(visitor)
    expect(visitor.thanks).to_be_visible()
    assert visitor.stored() == [{"name": "Ada"}]
    assert not any("forms.files" in url or "forms.more" in url for url in loaded)


def test_page_that_cancels_the_submit_event__keeps_its_files(visitor: Visitor) -> None:
    ids = play_uploads(visitor)
    page = visitor.open(FORM)
    page.evaluate("addEventListener('fieldpost:submit', event => event.preventDefault())")
    choose(page, WORDS)
    send(visitor)
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_enabled()
    assert (ids, visitor.stored()) == ([], [])


def test_refused_form__sent_again__does_not_send_the_file_again(visitor: Visitor) -> None:
    ids = play_uploads(visitor)
    visitor.answers(refusal(400, "required", "CV is too old."))
    visitor.forgives = ["400"]
    page = visitor.open(FORM)
    choose(page, WORDS)
    send(visitor, "")
    expect(page.locator("[data-fieldpost-field-error]")).to_have_text("CV is too old.")
    expect(rows(page)).to_have_text("CV.pdf: sent")
    assert violations(page) == []
    send(visitor)
    expect(visitor.thanks).to_be_visible()
    assert (ids, visitor.stored()) == (["upl_1"], [{"name": "Ada", "cv": "upl_1"}])


@pytest.mark.parametrize(
    ("code", "status"),
    [("too_large", 413), ("file_type_not_allowed", 400), ("too_many", 400), ("origin_not_allowed", 403)],
)
def test_refused_file__has_the_services_words_at_its_input(visitor: Visitor, code: str, status: int) -> None:
    play_uploads(visitor, refusal(status, code, "CV: not this one."))
    visitor.forgives = [str(status)]
    page = visitor.open(FORM)
    choose(page, WORDS)
    send(visitor)
    expect(page.locator("[data-fieldpost-field-error]")).to_have_text("CV: not this one.")
    expect(page.locator("[name=cv]")).to_be_focused()
    expect(page.locator("[name=cv]")).to_have_attribute("aria-invalid", "true")
    expect(rows(page)).to_have_text("CV.pdf: not sent")
    assert violations(page) == []
    page.get_by_role("button", name="Remove CV.pdf").click()
    expect(rows(page)).to_have_count(0)
    send(visitor)
    expect(visitor.thanks).to_be_visible()
    assert visitor.stored() == [{"name": "Ada"}]


@pytest.mark.parametrize(
    ("attributes", "file", "words"),
    [
        ("", {**WORDS, "buffer": b""}, "“CV.pdf” is empty."),
        ('data-max-bytes="10"', WORDS, "“CV.pdf” is too large: at most 10 bytes can be sent."),
        ('multiple data-max-files="0"', WORDS, "At most 0 can be sent here. Remove a file."),
        ('accept=".doc, image/*"', WORDS, "“CV.pdf” cannot be sent here. Accepted: .doc, image/*."),
    ],
)
def test_file_that_the_page_does_not_take__is_not_sent(
    visitor: Visitor, attributes: str, file: FilePayload, words: str
) -> None:
    ids = play_uploads(visitor)
    page = visitor.open(FORM.replace('name="cv"', f'name="cv" {attributes}'))
    choose(page, file)
    send(visitor)
    expect(page.locator("[data-fieldpost-field-error]")).to_have_text(words)
    assert (ids, visitor.stored()) == ([], [])


@pytest.mark.parametrize("accept", [".doc,.PDF", "application/pdf", "application/*", "text/plain, .pdf"])
def test_file_that_the_page_takes__is_sent(visitor: Visitor, accept: str) -> None:
    ids = play_uploads(visitor)
    page = visitor.open(FORM.replace('name="cv"', f'name="cv" accept="{accept}"'))
    choose(page, WORDS)
    send(visitor)
    expect(visitor.thanks).to_be_visible()
    assert ids == ["upl_1"]


def test_cut_line__sends_that_file_again__and_only_that(visitor: Visitor) -> None:
    first = reply(201, json.dumps({"success": True, "data": {"id": "upl_first"}}))
    ids = play_uploads(visitor, first, no_connection, reply(502), reply(408))
    visitor.forgives = [*LINE_IS_DOWN, "502", "408"]
    page = visitor.open(MANY)
    choose(page, WORDS, OTHER)
    send(visitor)
    expect(rows(page).nth(1)).to_have_text("letter.pdf: waiting for the connection")
    expect(visitor.thanks).to_be_visible()
    assert (ids, visitor.stored()) == (["upl_1"], [{"name": "Ada", "cv": "upl_first, upl_1"}])


def test_line_that_stays_down__offers_to_try_again(visitor: Visitor) -> None:
    ids = play_uploads(visitor, *[no_connection] * 5)
    visitor.forgives = LINE_IS_DOWN
    page = visitor.open(FORM)
    choose(page, WORDS)
    page.evaluate(f"setInterval(() => {WAKE}, 100)")
    send(visitor)
    expect(page.locator("[data-fieldpost-field-error]")).to_have_text("The connection was lost. Please try again.")
    assert (ids, visitor.stored()) == ([], [])
    page.get_by_role("button", name="Retry CV.pdf").click()
    expect(visitor.thanks).to_be_visible()
    assert (ids, visitor.stored()) == (["upl_1"], [{"name": "Ada", "cv": "upl_1"}])


def test_burst__is_waited_out_for_as_long_as_the_service_says(visitor: Visitor) -> None:
    ids = play_uploads(visitor, refusal(429, "rate_limited", "Slowly.", Retry_After="2"))
    visitor.forgives = ["429"]
    page = visitor.open(FORM)
    choose(page, WORDS)
    send(visitor)
    expect(visitor.thanks).to_be_visible()
    assert ids == ["upl_1"]


def test_burst_of_minutes__is_told_in_the_services_words(visitor: Visitor) -> None:
    play_uploads(visitor, reply(429, json.dumps({"success": False, "message": "Slowly."}), Retry_After="300"))
    visitor.forgives = ["429"]
    page = visitor.open(FORM)
    choose(page, WORDS)
    send(visitor)
    expect(page.locator("[data-fieldpost-field-error]")).to_have_text("Slowly.")
    assert visitor.stored() == []


def test_canceled_file__leaves_its_input__and_nothing_is_sent(visitor: Visitor) -> None:
    held: list[Route] = []
    ids = play_uploads(visitor, held.append)
    page = visitor.open(FORM)
    choose(page, WORDS)
    send(visitor)
    expect(page.get_by_role("progressbar", name="CV.pdf")).to_be_visible()
    assert violations(page) == []
    page.get_by_role("button", name="Cancel CV.pdf").click()
    expect(visitor.error).to_contain_text("Nothing was sent")
    expect(page.locator("[name=cv]")).to_have_value("")
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_enabled()
    assert (ids, visitor.stored()) == ([], [])
    send(visitor)
    expect(visitor.thanks).to_be_visible()
    assert visitor.stored() == [{"name": "Ada"}]


def test_id_that_cannot_be_used_any_more__is_made_again_once(visitor: Visitor) -> None:
    ids = play_uploads(visitor)
    refused = refusal(400, "invalid_upload", "CV: send the file again.")
    visitor.answers(refusal(400, "required", "No."), refused, refused)
    visitor.forgives = ["400"]
    page = visitor.open(FORM)
    page.evaluate("window.errors = []; addEventListener('fieldpost:error', event => errors.push(event.detail))")
    choose(page, WORDS)
    send(visitor)
    expect(page.locator("[data-fieldpost-field-error]")).to_have_text("No.")
    send(visitor)
    expect(page.locator("[data-fieldpost-field-error]")).to_have_text("CV: send the file again.")
    assert ids == ["upl_1", "upl_2"]
    assert page.evaluate("errors.length") == 2, "the page gets no event for a repaired failure"


def test_reload__brings_the_files_back__and_those_that_arrived_are_not_sent_again(visitor: Visitor) -> None:
    held: list[Route] = []
    first = reply(201, json.dumps({"success": True, "data": {"id": "upl_first"}}))
    ids = play_uploads(visitor, first, held.append)
    page = visitor.open(MANY.replace("multiple", "multiple required"))
    choose(page, WORDS, OTHER)
    send(visitor)
    expect(rows(page)).to_have_text(["CV.pdf: sent", "letter.pdf: sending"])
    wait_for_copies(page, 2)
    page.reload()
    expect(rows(page)).to_have_text(["CV.pdf: sent"])
    names = "input => [...input.files].map(file => file.name)"
    assert page.locator("[name=cv]").evaluate(names) == ["CV.pdf", "letter.pdf"]
    send(visitor)
    expect(visitor.thanks).to_be_visible()
    assert (ids, visitor.stored()) == (["upl_1"], [{"name": "Ada", "cv": "upl_first, upl_1"}])
    page.reload()
    assert page.locator("[name=cv]").evaluate(names) == []


def test_files_of_another_tab__are_not_shown(visitor: Visitor) -> None:
    play_uploads(visitor)
    visitor.answers(refusal(400, "required", "No."))
    visitor.forgives = ["400"]
    page = visitor.open(FORM)
    choose(page, WORDS)
    send(visitor)
    expect(page.locator("[data-fieldpost-field-error]")).to_be_visible()
    other = page.context.new_page()
    other.goto(page.url)
    other.wait_for_timeout(500)
    expect(rows(other)).to_have_count(0)
    expect(other.locator("[name=cv]")).to_have_value("")


def test_tag_without_a_form__cannot_send_files__and_says_so(visitor: Visitor) -> None:
    visitor.forgives = ["data-form-id"]
    page = visitor.open(FORM, tag=visitor.tag(None))
    choose(page, WORDS)
    send(visitor)
    expect(page.locator("[data-fieldpost-field-error]")).to_contain_text("Files cannot be sent")
    assert any("Give the script tag data-form-id" in one for one in visitor.complaints)


def test_code_that_cannot_be_loaded__sends_nothing_without_its_files(visitor: Visitor) -> None:
    play_uploads(visitor)
    visitor.forgives = LINE_IS_DOWN
    page = visitor.open(FORM)
    page.context.route("**/forms.files.*", no_connection)
    choose(page, WORDS)
    send(visitor)
    expect(visitor.error).to_have_text("This could not be sent. Please try again.")
    page.context.unroute("**/forms.files.*")
    send(visitor)
    expect(visitor.thanks).to_be_visible()
    assert visitor.stored() == [{"name": "Ada", "cv": "upl_1"}]


def test_form_in_a_shadow_root__sends_its_files(visitor: Visitor) -> None:
    ids = play_uploads(visitor)
    page = visitor.open('<div id="outer"></div>')
    page.evaluate("html => { document.querySelector('#outer').attachShadow({mode: 'open'}).innerHTML = html }", FORM)
    choose(page, WORDS)
    send(visitor)
    expect(visitor.thanks).to_be_visible()
    expect(rows(page)).to_have_count(0)
    assert (ids, visitor.stored()) == (["upl_1"], [{"name": "Ada", "cv": "upl_1"}])


@pytest.mark.parametrize("field", ["cf-turnstile-response", "h-captcha-response"])
def test_captcha_of_the_page__goes_with_each_file_too(visitor: Visitor, field: str) -> None:
    bodies: list[bytes] = []
    play_uploads(visitor)
    visitor.page.on(
        "request", lambda one: bodies.append(one.post_data_buffer or b"") if "/uploads" in one.url else None
    )
    page = visitor.open(MANY.replace("<button>", f'<input type="hidden" name="{field}" value="passed"><button>'))
    choose(page, WORDS, OTHER)
    send(visitor)
    expect(visitor.thanks).to_be_visible()
    part = f'name="{field}"\r\n\r\npassed\r\n'.encode()
    assert [part in body for body in bodies] == [True, True]


def test_proof_of_work__is_made_when_the_service_asks__and_is_for_all_files(visitor: Visitor) -> None:
    asked: list[str] = []
    ids = play_uploads(visitor, refusal(400, "proof_of_work_required", "Solve a challenge."))
    visitor.page.on("request", lambda request: asked.append(request.url) if "/f/challenge" in request.url else None)
    visitor.forgives = ["400"]
    page = visitor.open(MANY)
    choose(page, WORDS, OTHER)
    send(visitor)
    expect(visitor.thanks).to_be_visible()
    assert ids == ["upl_1", "upl_2"]
    assert asked == [f"{visitor.service_url}/f/challenge?formId={visitor.form_id}"]


def test_proof_of_work_that_is_refused__ends_with_the_services_words(visitor: Visitor) -> None:
    refused = refusal(400, "proof_of_work_required", "Solve a challenge.")
    ids = play_uploads(visitor, refused, refused)
    visitor.forgives = ["400"]
    page = visitor.open(FORM)
    choose(page, WORDS)
    send(visitor)
    expect(page.locator("[data-fieldpost-field-error]")).to_have_text("Solve a challenge.")
    assert ids == []


def test_other_file_chosen_on_the_way__stops_the_first(visitor: Visitor) -> None:
    held: list[Route] = []
    ids = play_uploads(visitor, held.append)
    page = visitor.open(FORM)
    choose(page, WORDS)
    send(visitor)
    expect(page.get_by_role("progressbar", name="CV.pdf")).to_be_visible()
    choose(page, OTHER)
    expect(visitor.error).to_contain_text("Nothing was sent")
    assert (ids, visitor.stored()) == ([], [])
    send(visitor)
    expect(visitor.thanks).to_be_visible()
    assert visitor.stored() == [{"name": "Ada", "cv": "upl_1"}]


def test_kept_form__waits_with_the_ids_of_its_files__over_a_reload(visitor: Visitor) -> None:
    ids = play_uploads(visitor)
    seen = visitor.answers(reply(429, Retry_After="3000"))
    visitor.forgives = ["429"]
    page = visitor.open(FORM)
    choose(page, WORDS)
    send(visitor)
    expect(visitor.queued).to_be_visible()
    page.reload()
    page.wait_for_function("Object.values(localStorage)[0] === '[]'")
    assert (ids, visitor.stored()) == (["upl_1"], [{"name": "Ada", "cv": "upl_1"}])
    assert len(set(seen)) == 1


def test_rows_in_a_dark_section__can_be_read(visitor: Visitor) -> None:
    play_uploads(visitor)
    visitor.answers(refusal(400, "required", "No."))
    visitor.forgives = ["400"]
    page = visitor.open(FORM.replace("<main>", "<style>main { background: #111 }</style><main>"))
    choose(page, WORDS)
    send(visitor)
    expect(rows(page)).to_have_text("CV.pdf: sent")
    expect(rows(page)).to_have_css("color", "rgb(255, 255, 255)")
