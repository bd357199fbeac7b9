"""Deliveries of suspended organizations in the table: passed over, released; submissions are not purged."""

import datetime as dt

import pytest
from django.db.models.functions import Now

from config.base.ids import first_id_of
from config.base.times import now
from keys.models import Organization
from keys.suspension import resume_organization, suspend_organization
from submissions.lifecycle.retention import purge_submissions
from submissions.models import Submission
from tests.support.deliveries import make_delivery
from tests.unit.webhooks.rows import claim_due, claim_one, make_deliveries, make_form, make_submission, make_webhook
from webhooks.models import Delivery
from webhooks.outbox.suspended import release_strays

pytestmark = pytest.mark.django_db
MANY = 70  # more than the candidates of one claim


def test_claim__many_due_deliveries_of_a_suspended_organization__takes_the_other_behind_them() -> None:
    (webhook,) = make_deliveries(MANY)
    Delivery.objects.update(next_attempt_at=Now() - dt.timedelta(hours=1))
    other = make_delivery(make_webhook(make_form()))
    suspend_organization(webhook.organization, by=None)
    assert claim_one().delivery == other
    assert Delivery.objects.waiting_for_resume().count() == MANY
    assert claim_due(5) == []


def test_resume__deliveries_that_wait__are_due_again() -> None:
    (webhook,) = make_deliveries(3)
    suspend_organization(webhook.organization, by=None)
    assert claim_due(5) == []
    resume_organization(webhook.organization, by=None)
    assert Delivery.objects.due().count() == 3


def test_release_strays__resume_that_was_interrupted__is_finished_and_others_wait() -> None:
    first, second = make_deliveries(2, webhooks=2)
    for webhook in (first, second):
        suspend_organization(webhook.organization, by=None)
    assert claim_due(5) == []
    Organization.objects.filter(pk=first.organization_id).update(suspended_at=None)
    assert (release_strays(), claim_one().delivery.receiver) == (1, first)


def test_retention__of_a_suspended_organization__waits_until_it_is_resumed() -> None:
    form = make_form(retention_days=1)
    row = make_submission(form)
    Submission.objects.filter(pk=row.pk).update(id=first_id_of(now() - dt.timedelta(days=2)))
    suspend_organization(form.organization, by=None)
    assert purge_submissions() == 0
    resume_organization(form.organization, by=None)
    assert purge_submissions() == 1
