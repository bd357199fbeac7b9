"""An organization's logo and accent, and the texts of a form's page: saved, refused, shown to visitors, recorded."""

import base64
import hashlib
import re
from io import BytesIO

import pytest
from PIL import Image

from forms_app.models import Form
from keys.models import AuditEvent, Logo, Organization
from tests.services.client import Answer, Client
from tests.support.browser import Browser, logged_in, markup_of, person_of, place, text_of
from tests.support.tenants import Tenant, make_tenant

BOUNDARY = b"----fieldpost"
HOSTILE = '"><script>alert(1)</script>'


def png(size: tuple[int, int] = (960, 320), color: str = "navy") -> bytes:
    file = BytesIO()
    Image.new("RGB", size, color).save(file, "PNG")
    return file.getvalue()


def upload(browser: Browser, tenant: Tenant, content: bytes, **values: str) -> Answer:
    page = browser.get(place(tenant, "organization/brand"))
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
    named = {"csrfmiddlewaretoken": token[1] if token else "", **values}
    parts = [f'Content-Disposition: form-data; name="{name}"\r\n\r\n{value}'.encode() for name, value in named.items()]
    head = b'Content-Disposition: form-data; name="logo"; filename="logo.png"\r\nContent-Type: image/png\r\n\r\n'
    body = b"".join(b"--" + BOUNDARY + b"\r\n" + part + b"\r\n" for part in [*parts, head + content])
    kind = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY.decode()}"}
    path = place(tenant, "organization/logo")
    return browser.api.post(path, data=body + b"--" + BOUNDARY + b"--\r\n", headers=browser.headers() | kind)


def logo_of(api: Client, form_id: str) -> str:
    """Return the path of the logo on a form's page."""
    found = re.search(r'class="logo[^>]* src="([^"]+)"', markup_of(api.get(f"/f/{form_id}")))
    return found[1] if found else ""


def test_logo__uploaded__is_served_to_visitors_until_it_is_removed(api: Client) -> None:
    tenant = make_tenant()
    browser, form_id = logged_in(api, person_of(tenant)), tenant.default_form_id
    assert logo_of(api, form_id) == ""
    content = png() + b"\0" * 900_000  # more than other pages take
    assert upload(browser, tenant, content).status == 302
    path = logo_of(api, form_id)
    answer = api.get(path)
    assert Image.open(BytesIO(answer.body)).size == (480, 160)
    assert {name: answer.headers.get(name) for name in ("Content-Type", "Cache-Control", "X-Content-Type-Options")} == {
        "Content-Type": "image/png",
        "Cache-Control": "public, max-age=31536000, immutable",
        "X-Content-Type-Options": "nosniff",
    }
    assert "Set-Cookie" not in answer.headers
    assert 'width="168" height="56"' in markup_of(api.get(f"/f/{form_id}"))
    assert upload(browser, tenant, b"", do="remove").status == 302
    assert (logo_of(api, form_id), api.get(path).status) == ("", 404)
    assert not Logo.objects.filter(organization=tenant.organization).exists()
    events = AuditEvent.objects.filter(organization=tenant.organization, action="organization.brand_changed")
    names = [list(event.changes or {}) for event in events]
    assert names == [["logo_name"], ["logo_name"]]


@pytest.mark.on_sqlite
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<svg/>", "not a PNG, JPEG, WebP or GIF picture"),
        (b"", "not a PNG, JPEG, WebP or GIF picture"),
        (b"\0" * 1_000_001, "larger than 1 MB"),
    ],
    ids=["svg", "empty", "large"],
)
def test_logo__that_is_unfit__is_refused_at_its_input(api: Client, content: bytes, message: str) -> None:
    tenant = make_tenant()
    answer = upload(logged_in(api, person_of(tenant)), tenant, content)
    assert (answer.status, message in text_of(answer)) == (400, True)
    assert Organization.objects.get(pk=tenant.organization.pk).logo_name == ""


@pytest.mark.on_sqlite
def test_logo__of_three_megabytes__is_refused_before_it_is_read(api: Client) -> None:
    tenant = make_tenant()
    assert upload(logged_in(api, person_of(tenant)), tenant, b"\0" * 3_000_000).status == 413


def test_logo__of_another_organization__cannot_be_changed(api: Client) -> None:
    tenant, other = make_tenant(), make_tenant()
    stranger = logged_in(api, person_of(other))
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', stranger.get(place(other, "members")).text)
    assert token
    answers = [
        upload(stranger, tenant, png(), csrfmiddlewaretoken=token[1]),
        stranger.post(place(tenant, "organization/brand"), form=place(other, "organization/brand"), accent="#c2410c"),
    ]
    assert [answer.status for answer in answers] == [404, 404]
    tenant.organization.refresh_from_db()
    assert (tenant.organization.logo_name, tenant.organization.accent) == ("", "")


def test_accent__saved__colors_the_pages_and_one_that_is_unfit_is_replaced(api: Client) -> None:
    tenant = make_tenant()
    browser, page = logged_in(api, person_of(tenant)), place(tenant, "organization/brand")
    refused = browser.send(page, accent="#001f5b")
    assert (refused.status, "too dark for the dark mode" in text_of(refused)) == (400, True)
    suggestion = re.search(r'name="accent" value="(#[0-9a-f]{6})">Use', markup_of(refused))
    assert suggestion
    assert browser.send(page, accent=suggestion[1]).status == 302
    style = f":root{{--accent:{suggestion[1]};--accent-strong:{suggestion[1]};--on-accent:#ffffff}}"
    source = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    shown = api.get(f"/f/{tenant.default_form_id}")
    assert f"<style>{style}</style>" in shown.text
    assert f"style-src 'self' 'sha256-{source}';" in shown.headers["Content-Security-Policy"]
    assert "unsafe" not in shown.headers["Content-Security-Policy"]
    assert browser.send(page, accent=" ").status == 302
    plain = api.get(f"/f/{tenant.default_form_id}")
    assert "<style>" not in plain.text
    assert "style-src 'self';" in plain.headers["Content-Security-Policy"]


def test_page_of_a_form__its_texts__are_saved_previewed_and_shown_as_text(api: Client) -> None:
    tenant = make_tenant()
    form_id, browser = tenant.form(name="Cakes"), logged_in(api, person_of(tenant))
    tab = place(tenant, f"forms/{form_id}/page")
    texts = {
        "description": f"First\r\nsecond {HOSTILE}",
        "button_label": "Order now",
        "return_url": "https://nora.example/c",
    }
    assert browser.send(tab, **texts).status == 302
    shown = api.get(f"/f/{form_id}").text
    assert "First<br>second &quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;" in shown
    assert "<button>Order now</button>" in shown
    thanks = markup_of(api.get(f"/f/{form_id}/thanks"))
    assert '<a href="https://nora.example/c" rel="nofollow noopener">Back to nora.example</a>' in thanks
    preview = browser.get(f"{tab}/preview?button_label=Other+label&description=")
    assert ("Other label" in preview.text, "First" in preview.text) == (True, False)
    assert preview.headers["X-Frame-Options"] == "SAMEORIGIN"
    policy = preview.headers["Content-Security-Policy"]
    assert policy.endswith("form-action 'none'; base-uri 'none'; frame-ancestors 'self'; sandbox allow-same-origin")
    assert "frame-src 'self'" in browser.get(tab).headers["Content-Security-Policy"]
    assert Form.objects.get(organization=tenant.organization, name="Cakes").button_label == "Order now"
    assert AuditEvent.objects.filter(organization=tenant.organization, action="form.page_changed").count() == 1
    record = api.get(f"/api/forms/{form_id}", tenant.key).json()["data"]
    assert (record["buttonLabel"], record["returnUrl"]) == (texts["button_label"], texts["return_url"])


@pytest.mark.on_sqlite
@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"description": "x" * 1001}, "at most 1000 characters"),
        ({"button_label": "x" * 61}, "at most 60 characters"),
        ({"return_url": "javascript:alert(1)"}, "Must be a URL that begins with http:// or https://."),
        ({"return_url": "//evil.example"}, "Must be a URL that begins with http:// or https://."),
    ],
    ids=["description", "label", "script", "relative"],
)
def test_page_of_a_form__texts_that_are_unfit__are_refused(api: Client, texts: dict[str, str], message: str) -> None:
    tenant = make_tenant()
    form_id, browser = tenant.form(name="Cakes"), logged_in(api, person_of(tenant))
    answer = browser.send(place(tenant, f"forms/{form_id}/page"), **texts)
    assert (answer.status, message in text_of(answer)) == (400, True)
    assert Form.objects.get(organization=tenant.organization, name="Cakes").description == ""
