"""What a new organization does first, and what of it is done: up to a first submission that somebody hears of."""

import dataclasses

from forms_app import snippets
from forms_app.models import Form
from keys.models import Organization
from submissions.models import Submission
from webhooks.models import Webhook


@dataclasses.dataclass(frozen=True, slots=True)
class FirstSteps:
    """`form`: what the steps are about; the snippets are filled in for it. Empty `key`: no publishable key in use."""

    form: Form
    key: str
    has_form: bool
    is_published: bool
    has_submission: bool
    tells_somebody: bool

    @property
    def are_done(self) -> bool:
        """Tell whether nothing is left to show."""
        return self.has_submission and self.tells_somebody

    @property
    def done(self) -> int:
        """How many of the four are done."""
        return sum([self.has_form, self.is_published, self.has_submission, self.tells_somebody])

    @property
    def script_tag(self) -> str:
        """What goes into a page."""
        return snippets.script_tag(self.form, self.key)

    @property
    def curl(self) -> str:
        """What sends a first submission from a shell."""
        return snippets.curl_command(self.form, self.key)


def first_steps(organization: Organization) -> FirstSteps:
    """Return where an organization stands. The form made last is the one that the steps are about."""
    forms = Form.objects.filter(organization=organization).exclude(status=Form.Status.ARCHIVED)
    own = forms.filter(is_default=False).order_by("-id").first()
    form = own or forms.get(is_default=True)
    form.organization = organization
    told = (
        any(forms.values_list("notification_recipients", flat=True))
        or Webhook.objects.filter(form__organization=organization, status=Webhook.Status.ACTIVE).exists()
    )
    return FirstSteps(
        form=form,
        key=snippets.publishable_key(organization),
        has_form=own is not None,
        is_published=own is not None and own.status == Form.Status.PUBLISHED,
        has_submission=Submission.objects.filter(organization=organization).exists(),
        tells_somebody=told,
    )
