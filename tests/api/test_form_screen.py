"""The dashboard's screen of one form: snippets to paste, and what keeps spam out."""

import html
import re
import shlex

from forms_app.models import Form
from keys.access_keys import revoke_key
from keys.models import AccessKey
from tests.api.arrange import make_tenant, text_field
from tests.api.test_dashboard import LOGIN, PASSWORD, Browser, person_of
from tests.services.client import Client

ALL_TYPES = [
    *(
        text_field(kind, type=kind)
        for kind in ("Text", "Email", "Textarea", "Number", "Phone", "URL", "Date", "Hidden")
    ),
    text_field("size", type="Select", options=["S", "M"]),
    text_field("terms", type="Checkbox"),
    text_field("topics", type="Checkbox", options=["It's new", "Offers"]),
]
OFF = {"minimum_seconds": "2", "max_links": "", "blocked_words": "", "captcha": ""}


def log_in(api: Client, email: str) -> Browser:
    browser = Browser(api)
    assert browser.send(LOGIN, username=email, password=PASSWORD).status == 302
    return browser


def test_snippets__hold_the_publishable_key__never_a_secret_one(api: Client) -> None:
    tenant = make_tenant()
    field = text_field("</pre><script>alert(1)</script>", required=True)
    form_id = tenant.form(fields=[field])
    browser = log_in(api, person_of(tenant).email)

    page = browser.get(f"/dashboard/forms/{form_id}")

    snippets = [html.unescape(text) for text in re.findall(r"<pre[^>]*><code>(.*?)</code></pre>", page.text, re.DOTALL)]
    assert len(snippets) == 5
    service = f"http://127.0.0.1:{api.port}"
    tag = f'<script src="{service}/forms.js" data-key="{tenant.publishable}" data-form-id="{form_id}"></script>'
    assert snippets[0] == tag
    assert re.search(rf'src="{service}/forms\.[0-9a-f]{{12}}\.js" integrity="sha384-[^"]+" crossorigin', snippets[1])
    assert f'action="{service}/f/{form_id}" method="post"' in snippets[2]
    assert "<script>" not in snippets[2] and "&lt;script&gt;" in snippets[2], "escaped for the page it is pasted into"
    assert all(tenant.publishable in snippet for snippet in (*snippets[:2], *snippets[3:]))
    assert not re.search(r"fp_(?!pub_)\w{20}", page.text)
    assert "<script" not in page.text.replace("&lt;script", ""), "shown, not run"


def test_snippets__of_a_form_with_every_type__are_taken_as_they_are(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form(fields=[{**field, "required": True} for field in ALL_TYPES])
    page = log_in(api, person_of(tenant).email).get(f"/dashboard/forms/{form_id}")
    snippets = [html.unescape(text) for text in re.findall(r"<pre[^>]*><code>(.*?)</code></pre>", page.text, re.DOTALL)]

    curl, url, _, key, _, media_type, _, data = shlex.split(snippets[4])
    headers = dict(header.split(": ", 1) for header in (key, media_type))
    answer = api.post(url.removeprefix(f"http://127.0.0.1:{api.port}"), data=data, headers=headers)

    assert (curl, answer.status) == ("curl", 201), answer.text
    names = re.findall(r'name="([^"]+)"', snippets[2])
    assert list(dict.fromkeys(names)) == [field["name"] for field in ALL_TYPES]


def test_form_without_a_publishable_key__says_how_to_make_one(api: Client) -> None:
    tenant = make_tenant()
    for key in AccessKey.objects.filter(organization=tenant.organization, kind=AccessKey.Kind.PUBLISHABLE):
        revoke_key(key, by=None)

    page = log_in(api, person_of(tenant).email).get(f"/dashboard/forms/{tenant.form()}")

    assert "There is no publishable key in use" in page.text and "<pre" not in page.text


def test_spam_settings__once_saved__hold_for_the_next_submission(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    browser = log_in(api, person_of(tenant).email)
    path = f"/dashboard/forms/{form_id}"

    entered = {**OFF, "max_links": "0", "blocked_words": "casino\n\n casino \nloan"}
    saved = browser.post(f"{path}/spam", form=path, **entered)

    assert (saved.status, saved.headers["Location"]) == (302, path)
    assert "Saved." in browser.get(path).text
    form = Form.objects.get(organization=tenant.organization, is_default=False)
    assert form.spam_protection == {"max_links": 0, "blocked_words": ["casino", "loan"]}
    api.post(f"/api/submit?formId={form_id}", tenant.key, json={"m": "a loan"})
    assert api.get(f"/api/submissions?formId={form_id}&spam=true", tenant.key).json()["pagination"]["total"] == 1


def test_spam_settings__that_make_no_sense__are_told_and_nothing_is_saved(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    browser = log_in(api, person_of(tenant).email)
    path = f"/dashboard/forms/{form_id}"

    answer = browser.post(f"{path}/spam", form=path, **{**OFF, "minimum_seconds": "-1", "captcha": "turnstile"})

    assert answer.status == 400
    assert "greater than or equal to 0" in answer.text and "A captcha needs its site key and its secret." in answer.text
    assert Form.objects.get(organization=tenant.organization, is_default=False).spam_protection == {}


def test_captcha_secret__is_never_shown__and_kept_when_left_empty(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    browser = log_in(api, person_of(tenant).email)
    path = f"/dashboard/forms/{form_id}"
    keys = {"captcha": "hcaptcha", "captcha_site_key": "site"}

    browser.post(f"{path}/spam", form=path, **OFF | keys, captcha_secret="very secret")
    assert "very secret" not in browser.get(path).text
    browser.post(f"{path}/spam", form=path, **OFF | keys, captcha_secret="")

    stored = Form.objects.get(organization=tenant.organization, is_default=False).spam_protection
    assert stored == {**keys, "captcha_secret": "very secret"}


def test_form__of_another_organization_or_none__is_not_there(api: Client) -> None:
    outsider = log_in(api, person_of(make_tenant()).email)
    form_id = make_tenant().form(name="Secret plans")

    for path in (f"/dashboard/forms/{form_id}", "/dashboard/forms/frm_x"):
        assert (outsider.get(path).status, "Secret" in outsider.get(path).text) == (404, False)
    own = f"/dashboard/forms/{make_tenant().form()}"
    assert outsider.post(f"/dashboard/forms/{form_id}/spam", form="/dashboard/", **OFF).status == 404
    assert api.get(own).headers["Location"] == f"/dashboard/login?next={own}"


def test_spam_settings__without_a_csrf_token__are_refused(api: Client) -> None:
    tenant = make_tenant()
    browser = log_in(api, person_of(tenant).email)
    path = f"/dashboard/forms/{tenant.form()}"

    answer = browser.api.post(f"{path}/spam", data="minimum_seconds=9", headers=browser._headers())

    assert answer.status == 403


def test_archived_form__cannot_be_changed__and_says_so(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    browser = log_in(api, person_of(tenant).email)
    api.delete(f"/api/forms/{form_id}", tenant.key)
    path = f"/dashboard/forms/{form_id}"

    answer = browser.post(f"{path}/spam", form=path, **OFF | {"max_links": "3"})

    assert (answer.status, "archived and can no longer be changed" in answer.text) == (409, True)
