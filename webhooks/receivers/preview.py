"""The preview of a receiver: the newest submission as its service would get it. Nothing is sent."""

import json
from dataclasses import dataclass
from typing import Any

from django.utils import translation

from config.api.errors import Detail, ValidationFailed
from config.secrets.encryption import CannotDecrypt
from forms_app.models import Form
from forms_app.texts.placeholders import NAMES
from keys.models import Organization
from submissions.models import Submission
from webhooks.kinds.kind import Config, Kind, Preview, Request, indented
from webhooks.kinds.webhook import EVERY_KIND
from webhooks.models import Receiver
from webhooks.payloads import example_submission
from webhooks.receivers.destinations import refuse_undeclared_names

MOST_NAMES = 50  # of a submission to a form without fields
UNFIT = frozenset('|{}"')  # characters that no placeholder can have


@dataclass(frozen=True, slots=True)
class Previewed:
    """`shown`: the message. `request`: as it is logged. `remarks`: texts about the settings."""

    shown: Preview
    request: Request
    submission: Submission
    is_example: bool
    remarks: list[str]

    @property
    def body(self) -> str:
        return indented(json.loads(self.request.body))


def newest_submission(organization: Organization, form: Form | None) -> tuple[Submission, bool]:
    """Return the newest submission that is not spam, of a form or of all, or an example; and whether it is one."""
    rows = Submission.objects.filter(organization=organization, spam=False).listed().select_related("form")
    if form is not None:
        rows = rows.filter(form=form)
    found = rows.order_by("-id").first()
    if found is not None:
        return found, False
    return example_submission(form or Form.objects.get(organization=organization, is_default=True)), True


def preview_of(
    kind: Kind, typed: dict[str, Any], organization: Organization, form: Form | None
) -> tuple[Previewed | None, list[Detail]]:
    """
    Return the preview of a config that may be incomplete, and what is wrong with it.

    Members that are missing are those of the kind's example, and so are wrong secrets, which are in no message. None
    while another member is wrong. No look-up and no request.
    """
    read, details = kind.read_part(typed)
    secret = {each.name for each in kind.inputs if each.is_secret}
    try:
        refuse_undeclared_names(form, kind, {**kind.example, **read})
    except ValidationFailed as failure:
        details = [*details, *failure.details]
    if {each.field.removeprefix("config.") for each in details} - secret:
        return None, details
    return _previewed(kind, {**kind.example, **read}, organization, form), details


def preview_of_stored(receiver: Receiver) -> Previewed | None:
    """Return the preview of a receiver as it is; None if its config cannot be read."""
    try:
        kind, config = EVERY_KIND[receiver.kind], receiver.settings()
    except (KeyError, CannotDecrypt):
        return None
    return _previewed(kind, config, receiver.organization, receiver.form)


def placeholders_for(kind: Kind, organization: Organization, form: Form | None) -> list[str]:
    """Return the placeholders of a kind with a template: declared fields, or those of the newest submission."""
    if kind.template_of(kind.example) is None:
        return []
    declared = [field["name"] for field in form.fields] if form is not None else []
    names = declared or list(newest_submission(organization, form)[0].data)[:MOST_NAMES]
    fields = [f"data.{name}" for name in names if not UNFIT.intersection(name)]
    return [f"{{{{ {name} }}}}" for name in (*fields, *NAMES)]


def _previewed(kind: Kind, config: Config, organization: Organization, form: Form | None) -> Previewed:
    submission, is_example = newest_submission(organization, form)
    with translation.override(submission.form.language):  # as it is sent
        request, shown = kind.preview(submission, config)
    return Previewed(shown, request, submission, is_example, kind.remarks(config))
