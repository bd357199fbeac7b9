"""Reports of hosted forms: a row for the operators' admin, and a mail a day and form to each superuser."""

import datetime as dt

from django.conf import settings
from django.db import transaction
from django.utils.functional import lazy
from django.utils.translation import gettext

from config.api.errors import invalid
from config.base.text import clean_text
from config.base.times import now
from forms_app.models import Form, FormReport
from keys.models import User
from keys.notices import notify_account

MAX_REASON = 2000  # characters
SHOWN_IN_A_MAIL = 500  # characters
KEPT = dt.timedelta(days=365)


def report_form(form: Form, reason: str, *, address: str) -> FormReport:
    """
    Store a visitor's report and notify the operators. `form` is loaded with its organization.

    Raises ValidationFailed for a reason that is empty or longer than 2,000 characters.
    """
    reason = clean_text(reason).strip()
    if not reason:
        raise invalid("reason", "required", gettext("Say what is wrong with this form."), has_subject=True)
    if len(reason) > MAX_REASON:
        raise invalid(
            "reason",
            "too_long",
            gettext("At most %(most)s characters.") % {"most": f"{MAX_REASON:,}"},
            has_subject=True,
        )
    with transaction.atomic():
        report = FormReport.objects.create(
            form=form,
            form_name=form.name,
            organization_slug=form.organization.slug,
            reason=reason,
            address=address[:45],
        )
        _notify(report, form)
    return report


def _notify(report: FormReport, form: Form) -> None:
    for user in User.objects.filter(is_superuser=True, is_active=True).order_by("pk"):
        once = f"form.reported {form.public_id} {report.created_at:%Y-%m-%d} {user.pk}"
        subject, text = lazy(_subject, str)(form), lazy(_text, str)(report, form)
        notify_account(user, "form.reported", subject=subject, text=text, once=once)


def _subject(form: Form) -> str:
    return gettext("A form was reported: %(form)s") % {"form": form.name}


def _text(report: FormReport, form: Form) -> str:
    said = gettext("A visitor reported the form %(form)s of %(organization)s: %(url)s")
    where = gettext("The report: %(url)s\nMore reports of this form today are only listed there.")
    return "\n\n".join(
        [
            said % {"form": form.name, "organization": form.organization.name, "url": form.url},
            report.reason[:SHOWN_IN_A_MAIL],
            where % {"url": f"{settings.PUBLIC_URL}/admin/forms_app/formreport/{report.pk}/change/"},
        ]
    )


def purge_reports() -> int:
    """Delete handled reports of more than a year ago; return how many."""
    old = now() - KEPT
    return FormReport.objects.filter(created_at__lt=old, handled_at__lt=old).delete()[0]
