"""The page of a form's replies: saving, errors, preview, test mail; the record of consent; the list of ended mails."""

import pytest

from config.base.ids import Prefix, decode_id
from forms_app.models import Form, OptOut
from tests.services.client import Client
from tests.services.receivers import MailReceiver
from tests.support.answers.sending import (
    FIELDS,
    PROOF,
    REPLY,
    answering_form,
    decision,
    link_of,
    press,
    row_of,
    send,
)
from tests.support.browser import Browser, logged_in, member_of, person_of, place, text_of
from tests.support.mail_links import text_part
from tests.support.tenants import Tenant, make_tenant

TEXTS = {"subject": "Thanks for {{ data.topic }}", "text": "Dear {{ data.name }},\nthank you."}


def opened(api: Client, tenant: Tenant, form_id: str) -> tuple[Browser, str]:
    return logged_in(api, person_of(tenant)), place(tenant, f"forms/{form_id}/replies")


def stored(form_id: str) -> Form:
    return Form.objects.get(pk=decode_id(Prefix.FORM, form_id))


def test_reply_and_confirmation__saved__are_in_the_form(api: Client) -> None:
    tenant = make_tenant()
    form_id = answering_form(tenant, reply=None)
    owner, path = opened(api, tenant, form_id)

    saved = owner.send(path, enabled="on", confirmation="on", **TEXTS)

    assert saved.status == 302
    assert "Saved. It applies from the next submission on." in text_of(owner.follow(saved))
    form = stored(form_id)
    assert (form.confirmation, form.reply) == (True, {"enabled": True, **TEXTS})
    assert owner.send(path, subject="", text="").status == 302
    assert (stored(form_id).confirmation, stored(form_id).reply) == (False, None)


@pytest.mark.on_sqlite
def test_form__without_email_field_or_check__says_what_comes_first(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    owner, path = opened(api, tenant, form_id)
    page = text_of(owner.get(path))
    assert all(text in page for text in ("Add an Email field", "Turn on proof of work or a captcha"))

    refused = owner.send(path, confirmation="on", subject="", text="")

    assert refused.status == 400
    assert "needs an Email field" in text_of(refused)
    assert stored(form_id).confirmation is False


@pytest.mark.on_sqlite
def test_unknown_placeholder__is_shown_at_its_input(api: Client) -> None:
    tenant = make_tenant()
    owner, path = opened(api, tenant, answering_form(tenant, reply=None))

    refused = owner.send(path, enabled="on", subject="Hi", text="Dear {{ data.nobody }}")

    assert (refused.status, "The form has no field “nobody”." in text_of(refused)) == (400, True)


@pytest.mark.on_sqlite
def test_wrong_placeholders__are_shown_at_each_input_and_in_the_preview_with_advice(api: Client) -> None:
    tenant = make_tenant()
    form_id = answering_form(tenant)  # the stored reply is another one
    owner, path = opened(api, tenant, form_id)
    texts = {"subject": "Hi {{ Name }}", "text": 'About {{ data.topik | default: "it" }}'}
    advice = (
        "“Name” is no placeholder. Did you mean {{ data.name }}?",
        "The form has no field “topik”. Did you mean {{ data.topic }}?",
    )
    for do in ("save", "preview"):
        shown = text_of(owner.send(path, do=do, enabled="on", **texts))
        assert [shown.count(text) for text in advice] == [2, 2]  # at the input, and where the preview would be
        assert "Write a reply to see it here." not in shown
    unlike = text_of(owner.send(path, do="preview", subject="Hi", text="{{ xyz }}"))
    assert "“xyz” is no placeholder. Use data.<name>" in unlike


@pytest.mark.on_sqlite
def test_form__without_a_check__gets_one_with_the_reply_by_one_button(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form(fields=FIELDS)
    owner, path = opened(api, tenant, form_id)
    offer = "Turn on proof of work and save"
    assert offer not in text_of(owner.get(path))
    refused = owner.send(path, enabled="on", **TEXTS)
    assert (refused.status, offer in text_of(refused), TEXTS["subject"] in refused.text) == (400, True, True)
    assert stored(form_id).spam_protection == {}
    saved = owner.send(path, do="protect", enabled="on", **TEXTS)
    assert saved.status == 302
    assert stored(form_id).reply == {"enabled": True, **TEXTS}
    assert stored(form_id).spam_protection["proof_of_work"] is True


def test_spam_page__turning_the_check_off__is_refused_while_a_reply_needs_it(api: Client) -> None:
    tenant = make_tenant()
    form_id = answering_form(tenant)
    owner = logged_in(api, person_of(tenant))

    refused = owner.send(place(tenant, f"forms/{form_id}/spam"), minimum_seconds="2")

    assert refused.status == 400
    assert "needs proof of work or a captcha" in text_of(refused)
    assert stored(form_id).spam_protection == PROOF


def test_field_of_the_reply__removed_in_the_api__is_refused_with_advice(api: Client) -> None:
    tenant = make_tenant()
    form_id = answering_form(tenant)
    others = [field for field in FIELDS if field["name"] != "topic"]

    refused = api.patch(f"/api/forms/{form_id}", tenant.key, json={"fields": others})

    expected = "The form has no field “topic”. The form's reply uses it. Change the reply first."
    assert (refused.status, refused.json()["message"]) == (400, expected)


@pytest.mark.on_sqlite
def test_preview__shows_typed_texts_and_saves_nothing(api: Client) -> None:
    tenant = make_tenant()
    form_id = answering_form(tenant, reply=None)
    owner, path = opened(api, tenant, form_id)

    shown = owner.send(path, do="preview", enabled="on", **TEXTS)

    assert (shown.status, "Thanks for Sales" in text_of(shown)) == (200, True)
    assert "Filled with examples" in text_of(shown)
    assert stored(form_id).reply is None
    send(api, tenant, form_id, email="ada@example.net", topic="Support")
    shown = owner.send(path, do="preview", enabled="on", **TEXTS)
    assert all(text in text_of(shown) for text in ("Thanks for Support", "ada@example.net", "newest submission"))


def test_test_mail__goes_to_the_user_who_asks(api: Client, smtp: MailReceiver) -> None:
    tenant = make_tenant()
    form_id = answering_form(tenant)
    user = member_of(tenant.organization, "member")
    member = logged_in(api, user)
    path = place(tenant, f"forms/{form_id}/replies")

    sent = member.post(place(tenant, f"forms/{form_id}/test-reply"), form=path)

    assert "is on its way" in text_of(member.follow(sent))
    (mail,) = smtp.wait_for(user.email)
    assert mail.message["Subject"] == "Thanks for writing about Sales"
    assert "we answer within a day" in text_part(mail)


def test_submission__unconfirmed__has_its_tab__its_record__and_a_button(api: Client, smtp: MailReceiver) -> None:
    tenant = make_tenant()
    form_id = answering_form(tenant, reply=None, confirmation=True)
    owner = logged_in(api, person_of(tenant))
    inbox = place(tenant, "submissions")
    assert "Unconfirmed" not in text_of(owner.get(inbox))
    address = f"ada.{tenant.organization.slug}@example.net"
    made = send(api, tenant, form_id, email=address, name="Ada")
    assert decision(made, "confirmation") == ""
    smtp.wait_for(address)

    assert made not in owner.get(inbox).text
    assert made in owner.get(f"{inbox}?unconfirmed=on").text
    page = owner.get(f"{inbox}/{made}")
    shown = text_of(page)
    assert all(text in shown for text in ("Unconfirmed, not delivered.", "Confirm by hand", "Consent", address))
    assert "Waiting for confirmation" in shown
    done = owner.post(place(tenant, "submissions/act"), form=f"{inbox}/{made}", id=made, do="release")
    assert (done.status, row_of(made).held) == (302, "")
    assert made in owner.get(inbox).text


def test_submission__confirmed__shows_when_and_from_where(api: Client, smtp: MailReceiver) -> None:
    tenant = make_tenant()
    form_id = answering_form(tenant, confirmation=True)
    address = f"ada.{tenant.organization.slug}@example.net"
    made = send(api, tenant, form_id, email=address)
    press(api, link_of(smtp.wait_for(address)[0]))
    assert decision(made) == ""

    shown = text_of(logged_in(api, person_of(tenant)).get(place(tenant, f"submissions/{made}")))

    assert all(text in shown for text in ("Confirmed by the submitter", api.address, "SHA-256 of the text"))
    assert f"Reply to the submitter: {address}" in shown


def test_activity__says_why_no_mail_went(api: Client) -> None:
    tenant = make_tenant()
    form_id = answering_form(tenant)
    made = send(api, tenant, form_id, email="mailer-daemon@example.net", topic="Sales")
    decision(made)

    shown = text_of(logged_in(api, person_of(tenant)).get(place(tenant, f"submissions/{made}")))

    assert "No reply was mailed" in shown
    assert "The address is that of a program" in shown


def test_list_of_ended_mails__is_seen_and_cleared_by_admins(api: Client, smtp: MailReceiver) -> None:
    tenant = make_tenant()
    address = f"ada.{tenant.organization.slug}@example.net"
    send(api, tenant, answering_form(tenant), email=address, topic="Sales")
    press(api, link_of(smtp.wait_for(address)[0], "no-mails"))
    owner, path = logged_in(api, person_of(tenant)), place(tenant, "no-mails")
    row = OptOut.objects.get(organization=tenant.organization)
    other = logged_in(api, person_of(make_tenant()))

    assert address in text_of(owner.get(path))
    assert other.get(path).status == 404
    removed = owner.send(path, address=str(row.pk))

    assert f"{address} can get mails" in text_of(owner.follow(removed))
    assert not OptOut.objects.filter(organization=tenant.organization).exists()


def test_address_of_another_organizations_list__is_not_removed(api: Client) -> None:
    tenant, other = make_tenant(), make_tenant()
    row = OptOut.objects.create(organization=other.organization, email="ada@example.net")
    owner = logged_in(api, person_of(tenant))

    answer = owner.send(place(tenant, "no-mails"), address=str(row.pk))

    assert "not on the list any more" in text_of(owner.follow(answer))
    assert OptOut.objects.filter(pk=row.pk).exists()


def test_duplicate__keeps_the_replies(api: Client) -> None:
    tenant = make_tenant()
    form_id = answering_form(tenant, confirmation=True)
    owner = logged_in(api, person_of(tenant))

    owner.post(place(tenant, f"forms/{form_id}/duplicate"), form=place(tenant, f"forms/{form_id}"))

    copy = Form.objects.get(organization=tenant.organization, name="Contact copy")
    assert (copy.reply, copy.confirmation, len(copy.fields)) == (REPLY, True, len(FIELDS))
