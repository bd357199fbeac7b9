"""Addresses at FILES_ORIGIN: signed for one file, and for five minutes."""

from pathlib import Path

import pytest
import time_machine
from django.contrib.auth.models import AnonymousUser
from django.http import HttpResponseBase
from django.test import RequestFactory
from pytest_django import Settings

from config.base.times import now
from forms_app.models import Form
from submissions.transfers.downloads import SIGNED_SECONDS, send_file
from tests.support.tenants import make_tenant
from tests.unit.submissions.files.stored_files import send, use

pytestmark = pytest.mark.django_db
ORIGIN = "http://files.example"


def get(address: str, **headers: str) -> HttpResponseBase:
    request = RequestFactory().get(address, headers=headers)
    request.user = AnonymousUser()
    return send_file(request, address.partition("?")[0].rpartition("/")[2])


@pytest.mark.parametrize(("seconds", "status"), [(0, 200), (SIGNED_SECONDS - 1, 200), (SIGNED_SECONDS + 1, 404)])
def test_signed_address__serves_for_five_minutes(seconds: int, status: int, settings: Settings, tmp_path: Path) -> None:
    settings.FILES_DIR, settings.FILES_ORIGIN, settings.ALLOWED_HOSTS = tmp_path, ORIGIN, ["*"]
    tenant = make_tenant()
    form = Form.objects.get(organization=tenant.organization)
    [row] = send(form)
    use(form, row)
    with time_machine.travel(now(), tick=False) as clock:
        target = get(f"/files/{row.public_id}", x_access_key=tenant.key).headers["Location"]
        clock.shift(seconds)
        answer = get(target.removeprefix(ORIGIN), host="files.example")
    assert (SIGNED_SECONDS, answer.status_code) == (300, status)
    answer.close()
