"""`PUT` and `DELETE /api/forms/{id}/logo`, and what a form's pages show of it, its accent and the service."""

import re
import secrets
from io import BytesIO

import pytest
from PIL import Image

from config.base.ids import Prefix, decode_id
from forms_app.actions import change_form, duplicate_form
from forms_app.models import Form, FormLogo
from keys.branding.changes import set_accent, set_logo
from keys.models import AuditEvent
from keys.plans import Plan
from tests.services.client import Answer, Client
from tests.support.browser import markup_of
from tests.support.replies import UNAUTHORIZED, failure, invalid
from tests.support.tenants import Tenant, make_tenant

PICTURE = {"Content-Type": "image/png"}


def png(size: tuple[int, int] = (96, 32)) -> bytes:
    """Return a picture that no other test has: equal ones have the same address."""
    file = BytesIO()
    Image.frombytes("RGB", size, secrets.token_bytes(3 * size[0] * size[1])).save(file, "PNG")
    return file.getvalue()


def put(api: Client, tenant: Tenant, form_id: str, content: bytes, **headers: str) -> Answer:
    return api.request("PUT", f"/api/forms/{form_id}/logo", tenant.key, headers={**PICTURE, **headers}, data=content)


def row(form_id: str) -> Form:
    return Form.objects.select_related("organization").get(pk=decode_id(Prefix.FORM, form_id))


def logo_of(api: Client, form_id: str) -> str:
    """Return the path of the logo on a form's page."""
    found = re.search(r'class="logo[^>]* src="([^"]+)"', markup_of(api.get(f"/f/{form_id}")))
    return found[1] if found else ""


def test_logo__is_shown_on_the_forms_pages_alone__until_it_is_removed(api: Client) -> None:
    tenant = make_tenant()
    set_logo(tenant.organization, png(), by=None)
    form_id, other = tenant.form(), tenant.form()
    of_all = logo_of(api, form_id)

    answer = put(api, tenant, form_id, png() + b"\0" * 900_000)  # more than other bodies of the API
    assert (answer.status, answer.json()["message"], answer.json()["data"]["id"]) == (200, "Logo set.", form_id)
    own = logo_of(api, form_id)
    assert own not in ("", of_all)
    assert answer.json()["data"]["logo"] == f"http://127.0.0.1:{api.port}{own}"
    assert (logo_of(api, other), api.get(own).headers["Content-Type"]) == (of_all, "image/png")

    answer = api.delete(f"/api/forms/{form_id}/logo", tenant.key)
    assert (answer.status, answer.json()["message"], answer.json()["data"]["logo"]) == (200, "Logo removed.", None)
    assert (logo_of(api, form_id), api.get(own).status) == (of_all, 404)
    assert not FormLogo.objects.filter(form=row(form_id)).exists()
    events = AuditEvent.objects.filter(organization=tenant.organization, action="form.page_changed").order_by("id")
    name = own.removeprefix("/f/brand/").removesuffix(".png")
    assert [event.changes for event in events] == [{"logo": [None, name]}, {"logo": [name, None]}]


def test_same_logo_twice__is_one_change(api: Client) -> None:
    tenant = make_tenant()
    form_id, picture = tenant.form(), png()
    first, second = (put(api, tenant, form_id, picture).json()["data"] for _ in range(2))
    assert first == second
    assert AuditEvent.objects.filter(organization=tenant.organization, action="form.page_changed").count() == 1


@pytest.mark.parametrize("content", [b"", b"<svg/>", b"GIF89a", png()[:-40]])
def test_file__that_is_no_picture__is_refused(api: Client, content: bytes) -> None:
    tenant = make_tenant()
    answer = put(api, tenant, tenant.form(), content)
    message = "The file is not a PNG, JPEG, WebP or GIF picture. Choose another one."
    assert (answer.status, answer.json()) == (400, invalid(("logo", "invalid", message)))


@pytest.mark.parametrize("name", ["none", "%00", "a%00b", "%ff", "a.b"])
def test_address__of_no_logo__is_404(api: Client, name: str) -> None:
    assert api.get(f"/f/brand/{name}.png").status == 404


@pytest.mark.parametrize("size", [1_000_001, 20_000_000])
def test_logo__of_more_than_1_mb__is_413(api: Client, size: int) -> None:
    tenant = make_tenant()
    answer = put(api, tenant, tenant.form(), png() + b"\0" * size)
    too_large = failure("payload_too_large", "The logo is larger than 1 MB. Save it smaller, then send it again.")
    assert (answer.status, answer.json()) == (413, too_large)


def test_logo__with_a_query__is_refused(api: Client) -> None:
    tenant = make_tenant()
    path = f"/api/forms/{tenant.form()}/logo?name=logo.png"
    for answer in (
        api.request("PUT", path, tenant.key, headers=PICTURE, data=png()),
        api.delete(path, tenant.key),
    ):
        assert (answer.status, [one["code"] for one in answer.json()["details"]]) == (400, ["unknown_parameter"])


def test_compressed_logo__is_415(api: Client) -> None:
    tenant = make_tenant()
    assert put(api, tenant, tenant.form(), png(), **{"Content-Encoding": "gzip"}).status == 415


def test_logo__of_another_organizations_or_an_archived_form__is_refused(api: Client) -> None:
    tenant, other = make_tenant(), make_tenant()
    form_id = tenant.form()
    for answer in (put(api, other, form_id, png()), api.delete(f"/api/forms/{form_id}/logo", other.key)):
        assert (answer.status, answer.json()) == (403, UNAUTHORIZED)
    api.delete(f"/api/forms/{form_id}", tenant.key)
    assert put(api, tenant, form_id, b"no picture: the state comes first").status == 409
    assert api.delete(f"/api/forms/{form_id}/logo", tenant.key).status == 409


def test_copy__has_the_same_logo__which_stays_when_the_first_one_goes(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    put(api, tenant, form_id, png())
    path = logo_of(api, form_id)
    copy = duplicate_form(row(form_id))
    api.post(f"/api/forms/{copy.public_id}/publish", tenant.key)
    api.delete(f"/api/forms/{form_id}/logo", tenant.key)
    assert (logo_of(api, copy.public_id), api.get(path).status) == (path, 200)


def test_accent__of_the_form__is_that_of_its_pages(api: Client) -> None:
    tenant = make_tenant()
    set_accent(tenant.organization, "#2563eb", by=None)
    form_id, other = tenant.form(accent="#b3261e"), tenant.form()
    page, others = api.get(f"/f/{form_id}"), api.get(f"/f/{other}")
    assert "--accent:#b3261e" in page.text
    assert "#2563eb" not in page.text
    assert "--accent:#2563eb" in others.text
    assert page.headers["Content-Security-Policy"] != others.headers["Content-Security-Policy"]


@pytest.mark.parametrize("page", ["", "/thanks", "/report"])
def test_powered_by__switched_off__is_gone_from_the_pages__but_not_on_free(api: Client, page: str) -> None:
    tenant = make_tenant(Plan.PRO)
    form_id = tenant.form()
    assert "Powered by" in api.get(f"/f/{form_id}{page}").text
    change_form(row(form_id), powered_by=False)
    assert "Powered by" not in api.get(f"/f/{form_id}{page}").text
    tenant.organization.plan = Plan.FREE
    tenant.organization.save(update_fields=["plan"])
    assert "Powered by" in api.get(f"/f/{form_id}{page}").text
