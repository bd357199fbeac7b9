"""The texts of mails: for a submission, a test event, and a notice."""

from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from django.conf import settings
from django.template.loader import render_to_string
from django.utils.translation import gettext

from forms_app.consent.recipients import stop_url
from forms_app.field_kinds import FieldType
from keys.branding.brand import brand_of
from keys.branding.mail_html import html_of
from keys.models import Organization
from keys.plans import show_bytes
from submissions.lifecycle.spam_links import spam_url
from submissions.models import StoredFile, Submission
from submissions.serializers import submission_record
from webhooks.transport.smtp import Mail, one_line

MAX_HTML_BYTES = 100_000  # Gmail cuts a mail at 102 kB
# Characters of each label and value, and the number of them, to try one after the other until the HTML is short enough.
SHORTER = ((100, 4000, 200), (100, 500, 200), (60, 60, 100))
MOST_FILES = 50  # in HTML that is cut


def render_mail(
    submission: Submission, *, organization: Organization | None, uses_subject: bool, **envelope: Any
) -> Mail:
    """
    Return the mail for a submission; its form must be loaded. `envelope`: `to` and `message_id` of the mail, and
    `marks_spam`.

    `uses_subject`: the page may choose the subject. A stranger who has a page's key could write it.
    """
    subject = submission.controls.get("_subject") or submission.data.get("subject", "")
    return render_submission(
        submission_record(submission),
        form_name=submission.form.name,
        labels={field["name"]: field["label"] for field in submission.form.fields},
        organization=organization,
        form_url=f"{settings.SUBMISSION_PAGE}{submission.public_id}",
        reply_to=_reply_to(submission),
        subject=subject if uses_subject else "",
        **envelope,
    )


def render_test(example: dict[str, Any], *, organization: Organization | None, **envelope: Any) -> Mail:
    """Return the mail for a test event, from the example in its message's body."""
    name = example["formName"]
    subject = gettext("Test: new submission to %(form)s") % {"form": name}
    return render_submission(example, form_name=name, organization=organization, subject=subject, **envelope)


def render_notice(body: dict[str, Any], **envelope: Any) -> Mail:
    """Return the mail for a notice, from its message's body: `{subject, text}`."""
    subject, text = body["subject"], body["text"]
    return Mail(subject=subject, text=text, html=html_of(subject, text), **envelope)


def render_stored(body: dict[str, Any], **envelope: Any) -> Mail:
    """Return a mail whose texts were rendered where it was asked for: `{subject, text, html}`, and its options."""
    texts = {name: body[name] for name in ("subject", "text", "html")}
    return Mail(
        **texts,
        stop_url=body.get("stopUrl", ""),
        is_reply=body.get("isReply", False),
        sender=body.get("sender", ""),  # those of an earlier release have none
        reply_to=body.get("replyTo", ""),
        **envelope,
    )


def render_submission(
    record: dict[str, Any],
    *,
    to: str,
    message_id: str,
    form_name: str,
    subject: str,
    form_url: str | None = None,
    reply_to: str = "",
    labels: Mapping[str, str] = MappingProxyType({}),
    organization: Organization | None = None,
    marks_spam: bool = True,
) -> Mail:
    """
    Return the mail for a submission record.

    `record` is that of docs/contract.md 5 (`data`, `files`, `createdAt`, `id` and `formId` are used). The text has
    every value whole; the HTML is cut to MAX_HTML_BYTES. Files are linked, and the links need a login: mails are
    forwarded. `labels`: of names that the form declares. `organization`: the owner, for the brand. `form_url` is our
    own page of the submission, None for no link. Without a `subject` the form's name makes one. `marks_spam`: whether
    it has the link that marks the submission.
    """
    context = {
        "form_name": form_name,
        "form_url": form_url,
        "rows": [(labels.get(name) or name, value) for name, value in record["data"].items()],
        "files": [_file(file) for file in record.get("files", ())],  # test events of an earlier release have none
        "brand": brand_of(organization) if organization else None,
        "pages_url": settings.PAGES_URL or settings.PUBLIC_URL,
        "received_at": datetime.fromisoformat(record["createdAt"]).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
        "submission_id": record["id"],
        "stop_url": stop_url(record["formId"], to),
        "spam_url": spam_url(record["id"], to) if form_url and marks_spam else "",
    }
    return Mail(
        to=to,
        subject=one_line(subject) or one_line(gettext("New submission: %(form)s") % {"form": form_name}),
        text=render_to_string("mail/submission.txt", context),
        html=_html(context),
        reply_to=reply_to,
        message_id=message_id,
        stop_url=context["stop_url"],
        spam_url=context["spam_url"],
    )


def _html(context: dict[str, Any]) -> str:
    """Return the HTML of a submission, with less of it where it would be too long for mail programs."""
    html = render_to_string("mail/submission.html", context)
    rows = context["rows"]
    for label_length, value_length, count in SHORTER:
        if len(html.encode()) <= MAX_HTML_BYTES:
            break
        shown = [(_cut(label, label_length), _cut(value, value_length)) for label, value in rows[:count]]
        files = [{**file, "name": _cut(file["name"], label_length)} for file in context["files"][:MOST_FILES]]
        less = {"rows": shown, "is_cut": True, "left_out": len(rows) - len(shown), "files": files}
        html = render_to_string("mail/submission.html", context | less)
    return html


def _file(record: Mapping[str, Any]) -> dict[str, str]:
    """Return `{name, size, note, url}` of a file's record: `note` says why it is withheld, then there is no `url`."""
    note = {
        StoredFile.Scan.INFECTED.value: gettext("The virus scanner found it infected, so it is withheld."),
        StoredFile.Scan.PENDING.value: gettext("It is withheld until the virus scanner has read it."),
    }.get(record["scan"], "")
    size = show_bytes(record["size"])
    return {"name": record["name"], "size": size, "note": note, "url": "" if note else record["url"]}


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]}…"


def _reply_to(submission: Submission) -> str:
    """Return the submitter's address: as a control field says, else the first Email field, else `email`."""
    declared = [field["name"] for field in submission.form.fields if field["type"] == FieldType.EMAIL]
    candidates = [submission.controls.get("_replyto")]
    candidates += [submission.data.get(name) for name in ("replyto", "replyTo", *declared, "email")]
    stripped = (address.strip() for address in candidates if address)  # as the check of an Email field does
    return next(filter(None, stripped), "")
