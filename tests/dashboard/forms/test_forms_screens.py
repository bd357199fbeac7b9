"""Forms in the dashboard over HTTP, without scripts: made, built, published, set up, archived, erased."""

import html
import re
import shlex

import pytest

from forms_app.models import Form
from keys.access_keys import revoke_key
from keys.models import AccessKey, AuditEvent
from submissions.lifecycle.erasure import erase_form, finish_all_erasing
from submissions.models import Submission, Tally
from tests.dashboard.forms.every_type import ALL_TYPES, form_of
from tests.services.client import Answer, Client
from tests.services.receivers import MailReceiver
from tests.services.waiting import eventually
from tests.support.browser import Browser, place, text_of
from tests.support.mail_links import press
from tests.support.rows import put, put_many
from tests.support.tenants import Tenant, text_field
from webhooks.models import Delivery

HOSTILE = "</pre><script>alert(1)</script>"


def snippets_of(page: Answer) -> list[str]:
    return [html.unescape(text) for text in re.findall(r"<pre[^>]*><code>(.*?)</code></pre>", page.text, re.DOTALL)]


def test_list__shows_state_counts_and_the_default__and_archived_ones_apart(tenant: Tenant, member: Browser) -> None:
    form_id = tenant.form(name="Busy", fields=ALL_TYPES)
    put_many(tenant, form_id, [{"n": str(n)} for n in range(3)])
    page = text_of(member.get(place(tenant, "forms")))
    assert f"Busy Published {len(ALL_TYPES)} 3" in page
    assert "Inbox receives submissions without a form ID Published any 0" in page
    member.send(place(tenant, f"forms/{form_id}/archive"))
    member.get(place(tenant, "forms"))  # a message is shown once
    assert "Busy" not in text_of(member.get(place(tenant, "forms")))
    assert "Busy Archived" in text_of(member.get(place(tenant, "forms?status=archived")))


def test_form__published_and_unpublished__takes_submissions_or_not(
    api: Client, tenant: Tenant, member: Browser
) -> None:
    form_id = tenant.form(published=False)
    path = place(tenant, f"forms/{form_id}")
    statuses = []
    for act in ("publish", "unpublish"):
        statuses.append(api.post(f"/api/submit?formId={form_id}", tenant.key, json={"a": "b"}).status)
        member.post(f"{path}/{act}", form=path)
        statuses.append(api.post(f"/api/submit?formId={form_id}", tenant.key, json={"a": "b"}).status)
    assert statuses == [403, 201, 201, 403]


def test_default_form__unpublished_or_archived__stays_and_says_why(tenant: Tenant, member: Browser) -> None:
    path = place(tenant, f"forms/{tenant.default_form_id}")
    for act in ("unpublish", "archive"):
        page = member.follow(member.post(f"{path}/{act}", form=path))
        assert "The default form receives submissions without a form id" in text_of(page)
    assert form_of(tenant, tenant.default_form_id).status == "published"


WAYS = ("script", "html", "react", "fetch", "curl")


def code_of(tenant: Tenant, member: Browser, form_id: str) -> dict[str, list[str]]:
    """Return the snippets of each tab."""
    return {way: snippets_of(member.get(place(tenant, f"forms/{form_id}?snippet={way}"))) for way in WAYS}


def test_snippets__hold_the_publishable_key_and_are_shown_not_run(api: Client, tenant: Tenant, member: Browser) -> None:
    form_id = tenant.form(fields=[text_field(HOSTILE, required=True)])
    page = member.get(place(tenant, f"forms/{form_id}"))
    code, service = code_of(tenant, member, form_id), f"http://127.0.0.1:{api.port}"
    tag = f'<script src="{service}/forms.js" data-key="{tenant.publishable}" data-form-id="{form_id}"></script>'
    form, script, pinned = code["script"]
    assert snippets_of(page) == code["script"]
    assert script == tag
    assert form.startswith("<form>\n"), "without an action: the script sends it"
    assert re.search(rf'src="{service}/forms\.[0-9a-f]{{12}}\.js" integrity="sha384-[^"]+" crossorigin', pinned)
    assert f'action="{service}/f/{form_id}" method="post"' in code["html"][0]
    assert f'const ADDRESS = "{service}/f/{form_id}";' in code["react"][0]
    assert "<script>" not in form + code["html"][0], "escaped for the page it is pasted into"
    assert all(tenant.publishable in one for one in (pinned, *code["fetch"], *code["curl"]))
    assert not re.search(r"fp_(?!pub_)\w{20}", page.text)
    assert "<script>alert" not in page.text


@pytest.mark.on_sqlite
def test_snippets__of_a_form_with_every_type__are_taken_as_they_are(
    api: Client, tenant: Tenant, member: Browser
) -> None:
    form_id = tenant.form(fields=[{**field, "required": True} for field in ALL_TYPES if field["type"] != "File"])
    (command,) = code_of(tenant, member, form_id)["curl"]
    curl, url, _, key, _, media_type, _, data = shlex.split(command)
    headers = dict(header.split(": ", 1) for header in (key, media_type))
    assert curl == "curl"
    assert api.post(url.partition(str(api.port))[2], data=data, headers=headers).status == 201


@pytest.mark.on_sqlite
def test_snippets__of_a_form_with_files__send_multipart_to_its_page(tenant: Tenant, member: Browser) -> None:
    cv = text_field("cv", label="CV", type="File", required=True, accept=[".pdf", "image/*"], maxFiles=3)
    form_id = tenant.form(fields=[text_field("it's", label="Why", required=False), cv])
    code = code_of(tenant, member, form_id)
    url = form_of(tenant, form_id).url
    assert code["html"][0].splitlines() == [
        f'<form action="{url}" method="post" enctype="multipart/form-data">',
        '  <label>Why <input type="text" name="it&#x27;s"></label>',
        '  <label>CV <input type="file" name="cv" accept=".pdf,image/*" multiple required></label>',
        "  <button>Send</button>",
        "</form>",
    ]
    assert code["script"][0].splitlines()[0] == "<form>", "the script sends them"
    assert '<form action={ADDRESS} method="post" encType="multipart/form-data" onSubmit={send}>' in code["react"][0]
    assert '<input type="file" name="cv" accept=".pdf,image/*" multiple required />' in code["react"][0]
    assert f'fetch("{url}", {{' in code["fetch"][0]
    assert "body: new FormData(form)" in code["fetch"][0]
    assert shlex.split(code["curl"][0]) == [
        *("curl", url, "-H", "Accept: application/json"),
        *("--form-string", "it's=Hello", "-F", "cv=@example.pdf"),
    ]


@pytest.mark.on_sqlite
def test_snippets__optional_choices__are_not_made_for_the_visitor(tenant: Tenant, member: Browser) -> None:
    fields = [
        {"name": "cake", "label": "Cake", "type": "Select", "required": False, "options": ["Chocolate", "Lemon"]},
        {"name": "agree", "label": "I agree", "type": "Checkbox", "required": False},
        {"name": "weight", "label": "Weight", "type": "Number", "required": False},
        {"name": "source", "label": "Source", "type": "Hidden", "required": False},
    ]
    code = code_of(tenant, member, tenant.form(fields=fields))
    assert code["html"][0].splitlines()[1:-2] == [
        '  <label>Cake <select name="cake"><option value="">Choose…</option>'
        "<option>Chocolate</option><option>Lemon</option></select></label>",
        '  <label>I agree <input type="checkbox" name="agree" value="yes"></label>',
        '  <label>Weight <input type="number" name="weight" step="any"></label>',
        '  <input type="hidden" name="source">',
    ]
    assert '<option value="">Choose…</option>' in code["react"][0]
    assert all(
        '{"cake": "Chocolate", "agree": "yes", "weight": "42", "source": "Hello"}' in one
        for one in (*code["fetch"], *code["curl"])
    )


def test_snippets__without_a_publishable_key__lead_to_making_one(
    tenant: Tenant, member: Browser, owner: Browser
) -> None:
    for key in AccessKey.objects.filter(organization=tenant.organization, kind="publishable"):
        revoke_key(key, by=None)
    path = place(tenant, f"forms/{tenant.form()}")
    page = member.get(path)
    assert "There is no publishable key in use" in text_of(page)
    assert "Ask an admin" in text_of(page)
    assert snippets_of(page) == []
    assert place(tenant, "keys/new") in owner.get(path).text
    assert len(snippets_of(member.get(f"{path}?snippet=html"))) == 1, "it needs no key"
    with_files = place(tenant, f"forms/{tenant.form(fields=[text_field('cv', type='File', required=False)])}")
    page = member.get(f"{with_files}?snippet=curl")
    assert (len(snippets_of(page)), "The key in it is publishable" in text_of(page)) == (1, False)


def test_settings__saved__hold_for_the_api_as_well(api: Client, tenant: Tenant, member: Browser) -> None:
    form_id = tenant.form()
    values = {"allowed_origins": "https://Shop.example:443\r\n\r\nhttps://*.example.com", "retention_days": "30"}
    values |= {"redirect_url": "https://shop.example/thanks", "success_message": "Thanks <b>!", "name": "Renamed"}
    assert member.send(place(tenant, f"forms/{form_id}/settings"), **values).status == 302
    record = api.get(f"/api/forms/{form_id}", tenant.key).json()["data"]
    assert record["allowedOrigins"] == ["https://shop.example", "https://*.example.com"]
    assert (record["retentionDays"], record["redirectUrl"]) == (30, "https://shop.example/thanks")
    assert (record["successMessage"], record["name"]) == ("Thanks <b>!", "Renamed")


@pytest.mark.on_sqlite
@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("allowed_origins", "https://a.example/path", "is not an origin"),
        ("redirect_url", "javascript:alert(1)", "http:// or https://"),
        ("retention_days", "0", "greater than or equal to 1"),
        ("name", "", "required"),
    ],
)
def test_settings__mistakes__stand_at_their_field(
    tenant: Tenant, member: Browser, name: str, value: str, words: str
) -> None:
    form_id = tenant.form(name="Kept")
    answer = member.send(place(tenant, f"forms/{form_id}/settings"), **{"name": "Kept", name: value})
    assert answer.status == 400
    assert words in text_of(answer)
    assert 'aria-invalid="true"' in answer.text


def test_spam__saved__is_shown_again_but_never_the_captcha_s_secret(tenant: Tenant, member: Browser) -> None:
    path = place(tenant, f"forms/{tenant.form()}/spam")
    values = {"minimum_seconds": "3", "max_links": "1", "blocked_words": "casino\r\ncheap", "captcha": "turnstile"}
    values |= {"captcha_site_key": "site-key", "captcha_secret": "very-secret-captcha"}
    assert member.send(path, **values).status == 302
    page = member.get(path).text
    assert all(shown in page for shown in ('value="3"', "casino", "site-key"))
    assert "very-secret-captcha" not in page
    refused = member.send(path, **{**values, "captcha_site_key": ""})
    assert (refused.status, "needs its site key and its secret" in refused.text) == (400, True)


def test_notifications__saved_addresses__are_mailed_and_a_test_shows_what_came_of_it(
    api: Client, tenant: Tenant, owner: Browser, smtp: MailReceiver
) -> None:
    form_id = tenant.form(name="Contact", fields=[text_field("email", type="Email", required=False)])
    path = place(tenant, f"forms/{form_id}/notifications")
    address = f"team-{tenant.organization.slug}@example.com"
    assert owner.send(path, recipients=f" {address.replace('example', 'EXAMPLE')}\r\n{address}\r\n").status == 302
    assert form_of(tenant, form_id).notification_recipients == [address]
    press(api, smtp.wait_for(address)[0])
    owner.post(place(tenant, f"forms/{form_id}/test-mail"), form=path, recipient=address)
    mail = smtp.wait_for(address, 2)[1].message
    assert mail["Subject"] == "Test: new submission to Contact"
    eventually(lambda: f"Delivered {address}" in text_of(owner.get(path)))
    api.post(f"/api/submit?formId={form_id}", tenant.key, json={"email": "ada@example.com"})
    real = smtp.wait_for(address, 3)[2].message
    body = real.get_body(("plain",))
    assert body is not None
    link = re.search(r"(/dashboard/submissions/sub_\w+)", body.get_content())
    assert link
    assert "ada@example.com" in text_of(owner.follow(owner.get(link[1])))


@pytest.mark.on_sqlite
@pytest.mark.parametrize(
    "recipients", ["nonsense", "\n".join(f"a{n}@example.com" for n in range(21)), "a@example.com, b@c"]
)
def test_notifications__no_addresses_or_too_many__are_refused(tenant: Tenant, owner: Browser, recipients: str) -> None:
    form_id = tenant.form()
    answer = owner.send(place(tenant, f"forms/{form_id}/notifications"), recipients=recipients)
    assert answer.status == 400
    assert form_of(tenant, form_id).notification_recipients == []


def test_test_mail__to_somebody_else__is_not_sent(tenant: Tenant, owner: Browser) -> None:
    path = place(tenant, f"forms/{tenant.form()}")
    page = owner.follow(owner.post(f"{path}/test-mail", form=path, recipient="stranger@example.com"))
    assert "Save the address first" in text_of(page)
    assert not Delivery.objects.filter(organization=tenant.organization).exists()


def test_erase__after_its_name_was_typed__leaves_nothing_but_a_line_in_the_trail(
    api: Client, tenant: Tenant, owner: Browser
) -> None:
    form_id = tenant.form(name="Summer fair")
    put_many(tenant, form_id, [{"n": str(n)} for n in range(5)])
    path = place(tenant, f"forms/{form_id}/erase")
    early = owner.follow(owner.send(path, typed="Summer fair"))
    assert "Archive the form first" in text_of(early)
    owner.send(place(tenant, f"forms/{form_id}/archive"))
    assert owner.send(path, typed="summer").status == 400
    assert "is erased permanently" in text_of(owner.follow(owner.send(path, typed=" Summer fair ")))
    assert api.get(f"/api/forms/{form_id}", tenant.key).status == 404
    assert not Submission.objects.filter(organization=tenant.organization).exists()
    assert AuditEvent.objects.filter(organization=tenant.organization, action="form.erased").count() == 1


def test_erase__large_form__is_finished_by_the_clean_up(tenant: Tenant, owner: Browser) -> None:
    form_id = tenant.form(name="Large")
    put_many(tenant, form_id, [{"n": str(n)} for n in range(7)])
    owner.send(place(tenant, f"forms/{form_id}/archive"))
    form = form_of(tenant, form_id)
    assert erase_form(form, by=tenant.owner, within_request=5) is False
    assert "Being erased" in text_of(owner.get(place(tenant, "forms?status=archived")))
    finish_all_erasing()
    assert not Form.objects.filter(pk=form.pk).exists()
    assert not Tally.objects.filter(form_id=form.pk).exists()


def test_erase__of_what_was_spam_too__takes_it(tenant: Tenant, owner: Browser) -> None:
    form_id = tenant.form(name="Robots")
    put(tenant, form_id, {"n": "1"}, spam=True)
    owner.send(place(tenant, f"forms/{form_id}/archive"))
    owner.send(place(tenant, f"forms/{form_id}/erase"), typed="Robots")
    assert not Submission.objects.filter(organization=tenant.organization).exists()
