"""
A test submission: a member sends one from the dashboard, through the checks of a visitor's (docs/design.md).

It is no request to the API, so it does not count against the plan's hour; it has its own limit. Its member is logged
in, so origins, bursts, proof of work and captchas are not asked for. The rest is as for every submission: storage, the
form's state, the values, the spam rules, deliveries, figures.
"""

import dataclasses

from django.conf import settings
from django.http import HttpRequest

from config.api import ratelimit
from config.base.nudge import DELIVER, nudge
from forms_app.models import Form
from forms_app.snippets import test_values
from submissions.models import Submission
from submissions.receiving.gates import Candidate, accept
from submissions.receiving.insert import Stored
from submissions.receiving.key_and_form import Owner
from submissions.receiving.parse_body import Post, take_in


def send_test(form: Form, request: HttpRequest, *, live: bool) -> Stored:
    """
    Store example values of the form's fields, marked as a test, and start their delivery; as a test submission (12.1)
    unless they are `live`.

    Raises the ApiError of the check that failed, and RateLimited after an organization's TEST_SUBMISSIONS.
    """
    ratelimit.take_share("test-submission", form.organization_id, settings.TEST_SUBMISSIONS)
    intake = dataclasses.replace(take_in(test_values(form)), controls={Submission.TRIAL: "dashboard"})
    owner = Owner(form.organization, form, is_member=True, is_test=not live)
    stored = accept(Candidate(Post(request, intake=intake), owner))
    nudge(DELIVER)
    return stored
