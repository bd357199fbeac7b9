"""The first steps of a new organization, from its first form to the first notification of a submission."""

import dataclasses

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from forms_app.models import Form
from keys.models import Organization
from submissions.models import Submission
from webhooks.models import Receiver

HIDDEN = ("fieldpost_first_steps", "hidden")  # a cookie with the path of one organization
YEAR = 365 * 86_400  # seconds


@dataclasses.dataclass(frozen=True, slots=True)
class FirstSteps:
    """`form`: the newest form, which the steps are about; None before the first one."""

    form: Form | None
    is_published: bool
    has_submission: bool
    has_notification: bool

    @property
    def are_done(self) -> bool:
        return self.has_submission and self.has_notification

    @property
    def done(self) -> int:
        """The number of completed steps, of four."""
        return sum([self.form is not None, self.is_published, self.has_submission, self.has_notification])


def first_steps(organization: Organization) -> FirstSteps:
    forms = Form.objects.filter(organization=organization).exclude(status=Form.Status.ARCHIVED)
    form = forms.filter(is_default=False).order_by("-id").first()
    has_notification = (
        forms.exclude(notification_recipients=[]).exists()
        or Receiver.objects.filter(organization=organization, status=Receiver.Status.ACTIVE).exists()
    )
    return FirstSteps(
        form=form,
        is_published=form is not None and form.status == Form.Status.PUBLISHED,
        has_submission=Submission.objects.filter(organization=organization).of_mode(test=False).exists(),
        has_notification=has_notification,
    )


def are_hidden(request: HttpRequest) -> bool:
    """Return whether this browser has dismissed the steps of the organization in the address."""
    name, value = HIDDEN
    return request.COOKIES.get(name) == value


def hide(response: HttpResponse, slug: str, *, hidden: bool) -> None:
    """Remember in the browser whether the steps of an organization are hidden."""
    (name, value), path = HIDDEN, reverse("dashboard:overview", args=[slug])
    if hidden:
        secure = settings.SESSION_COOKIE_SECURE
        response.set_cookie(name, value, max_age=YEAR, path=path, secure=secure, httponly=True, samesite="Lax")
    else:
        response.delete_cookie(name, path=path, samesite="Lax")
