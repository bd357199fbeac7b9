"""The first steps of a new organization, from its first form to the first notification of a submission."""

import dataclasses

from forms_app import snippets
from forms_app.models import Form
from keys.models import Organization
from submissions.models import Submission
from webhooks.models import Webhook


@dataclasses.dataclass(frozen=True, slots=True)
class FirstSteps:
    """`form`: the form of the steps and their snippets. `key`: "" without a usable publishable key."""

    form: Form
    key: str
    has_form: bool
    is_published: bool
    has_submission: bool
    has_notification: bool

    @property
    def are_done(self) -> bool:
        """Whether the list of steps can be hidden."""
        return self.has_submission and self.has_notification

    @property
    def done(self) -> int:
        """The number of completed steps, of four."""
        return sum([self.has_form, self.is_published, self.has_submission, self.has_notification])

    @property
    def script_tag(self) -> str:
        """The script tag for the customer's page."""
        return snippets.script_tag(self.form, self.key)

    @property
    def curl(self) -> str:
        """A shell command that sends a first submission."""
        return snippets.curl_command(self.form, self.key)


def first_steps(organization: Organization) -> FirstSteps:
    """Return an organization's progress. The steps are about the newest form."""
    forms = Form.objects.filter(organization=organization).exclude(status=Form.Status.ARCHIVED)
    own = forms.filter(is_default=False).order_by("-id").first()
    form = own or forms.get(is_default=True)
    form.organization = organization
    has_notification = (
        any(forms.values_list("notification_recipients", flat=True))
        or Webhook.objects.of_organization(organization.pk).filter(status=Webhook.Status.ACTIVE).exists()
    )
    return FirstSteps(
        form=form,
        key=snippets.publishable_key(organization),
        has_form=own is not None,
        is_published=own is not None and own.status == Form.Status.PUBLISHED,
        has_submission=Submission.objects.filter(organization=organization).exists(),
        has_notification=has_notification,
    )
