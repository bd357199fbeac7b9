"""A visitor reports a hosted form: the operators get a row and a mail, the form's owner gets nothing."""

from urllib.parse import urlencode

import pytest

from forms_app.models import FormReport
from keys.models import Notice, User
from tests.services.client import Answer, Client
from tests.services.receivers import MailReceiver
from tests.support.accounts import with_authenticator_app
from tests.support.browser import logged_in, person_of
from tests.support.tenants import Tenant, make_tenant

REASON = "It asks for my bank's password. <script>alert(1)</script>"


def report(api: Client, form_id: str, reason: str = REASON) -> Answer:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    return api.post(f"/f/{form_id}/report", data=urlencode({"reason": reason}), headers=headers)


def operator_of(tenant: Tenant) -> User:
    operator = person_of(tenant)
    User.objects.filter(pk=operator.pk).update(is_staff=True, is_superuser=True)
    with_authenticator_app(operator)
    return operator


def test_report__of_a_form__is_in_the_admin_and_mailed_once_a_day(api: Client, smtp: MailReceiver) -> None:
    operator, tenant = operator_of(make_tenant()), make_tenant()
    form_id = tenant.form(name="Bank")
    page = api.get(f"/f/{form_id}")
    assert f'href="/f/{form_id}/report"' in page.text
    asked = api.get(f"/f/{form_id}/report")
    assert (asked.status, "Set-Cookie" in asked.headers, "<script" in asked.text) == (200, False, False)
    for _ in range(2):
        done = report(api, form_id)
        assert (done.status, "Thank you" in done.text) == (200, True)
    stored = FormReport.objects.filter(form_name="Bank", organization_slug=tenant.organization.slug)
    assert [row.reason for row in stored] == [REASON] * 2
    assert stored[0].address == api.address
    notices = Notice.objects.filter(account=operator, kind="form.reported", text__contains=tenant.organization.name)
    assert notices.count() == 1
    assert any(mail.message["Subject"] == "A form was reported: Bank" for mail in smtp.wait_for(operator.email))
    admin = logged_in(api, operator).get("/admin/forms_app/formreport/")
    assert (admin.status, tenant.organization.slug in admin.text, "<script>alert" in admin.text) == (200, True, False)
    assert smtp.to(tenant.owner.email) == []
    User.objects.filter(pk=operator.pk).update(is_superuser=False)


@pytest.mark.parametrize(("reason", "message"), [("  ", "Say what is wrong"), ("x" * 2001, "At most 2,000 characters")])
def test_report__without_a_fitting_reason__is_asked_again(api: Client, reason: str, message: str) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    answer = report(api, form_id, reason)
    assert (answer.status, message in answer.text) == (400, True)
    assert not FormReport.objects.filter(organization_slug=tenant.organization.slug).exists()


def test_report__sixth_of_an_address_in_an_hour__is_refused(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    assert [report(api, form_id).status for _ in range(6)] == [200] * 5 + [429]
    assert FormReport.objects.filter(organization_slug=tenant.organization.slug).count() == 5


@pytest.mark.parametrize("form_id", ["nonsense", "frm_01jz0000000000000000000000"])
def test_report__of_no_form__is_404(api: Client, form_id: str) -> None:
    assert (report(api, form_id).status, api.get(f"/f/{form_id}/report").status) == (404, 404)


def test_report__of_a_draft__is_404_and_does_not_show_its_name(api: Client) -> None:
    form_id = make_tenant().form(published=False, name="Secret plan")
    answer = api.get(f"/f/{form_id}/report")
    assert (answer.status, "Secret plan" in answer.text) == (404, False)
