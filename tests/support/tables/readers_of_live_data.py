"""Everybody who reads live submissions: a row for each reader, which must see nothing of test mode."""

import dataclasses
import io
import json
import re
import uuid
import zipfile
from collections.abc import Callable
from typing import Any

from django.test import Client as Browser

from config.base.ids import Prefix, decode_id
from config.base.times import now
from dashboard.frame.changes.traffic import traffic_of_form
from forms_app.models import Form
from keys.models import Notice
from submissions.counts.stored_bytes import recount
from submissions.live.reader import Reader
from submissions.models import ReadingPosition, Tally, UsageDay
from tests.services.client import Client
from tests.support.tables.callers import session_cookie
from tests.support.tenants import Tenant
from webhooks.listening.messages import read_page
from webhooks.models import Delivery
from webhooks.receivers.preview import newest_submission


@dataclasses.dataclass(frozen=True)
class Place:
    """An organization and what its addresses are made of: `form`, `hook`, `live` (a submission), `unconfirmed`."""

    tenant: Tenant
    ids: dict[str, str]

    @property
    def form(self) -> Form:
        return Form.objects.get(pk=decode_id(Prefix.FORM, self.ids["form"]))


Read = Callable[[Client, Place], object]
# Parts that differ between two requests for a page: tokens, times as people read them, the hour, the live list's start.
_CHANGING = re.compile(
    r'[0-9,]+ of 100,000|class="amount">[0-9,]+</strong>'
    r'|csrfmiddlewaretoken" value="[^"]*"|data-token="[^"]*"|nonce="[^"]*"|<time[^>]*>[^<]*</time>'
    r'|token=[^"&]*|hx-headers=\'[^\']*\'|data-live[a-z-]*="[^"]*"|sub_[0-9a-z]{10}0{9}[0-9a-z]*'
    r'|data-after="[^"]*"|progress/[^"?]*|name="run" value="[^"]*"'
)


def get(path: str) -> Read:
    return lambda api, place: api.get(path.format(**place.ids), place.tenant.key).body


def dry_run(path: str, **body: str) -> Read:
    def read(api: Client, place: Place) -> str:
        answer = api.post(path.format(**place.ids), place.tenant.key, json={**body, "dryRun": True})
        return f"{answer.status} {answer.text}"

    return read


def page(path: str) -> Read:
    def read(api: Client, place: Place) -> str:
        cookie = {"Cookie": session_cookie(place.tenant), "Accept": "text/html"}
        address = f"/dashboard/o/{place.tenant.organization.slug}{path.format(**place.ids)}"
        answer = api.get(address, headers=cookie)
        assert answer.status == 200, f"{answer.status} for {address}"
        return _CHANGING.sub("", answer.text)

    return read


def me(api: Client, place: Place) -> object:
    found = json.loads(api.get("/api/me", place.tenant.key).body)["data"]
    found["hour"].pop("used")
    found["key"].pop("lastUsedAt")
    return found


def of_rows(read: Callable[[Place], object]) -> Read:
    """Return a reader of the database, where no answer shows everything that it reads."""
    return lambda api, place: read(place)


def _files(place: Place) -> object:
    browser = Browser()
    browser.force_login(place.tenant.owner)
    answer = browser.post(f"/dashboard/o/{place.tenant.organization.slug}/submissions/export/files")
    assert answer.status_code == 200
    with zipfile.ZipFile(io.BytesIO(answer.getvalue())) as archive:
        return archive.namelist()


def _stored_bytes(place: Place) -> object:
    place.tenant.organization.refresh_from_db()
    return place.tenant.organization.stored_bytes


def _heard(place: Place) -> object:
    options: dict[str, Any] = {"test": False, "after": 0, "to": 10_000, "secret": "whsec_" + "A" * 43 + "="}
    found = read_page(place.tenant.organization.pk, None, since=now().replace(year=2020), **options)
    return [re.findall(rb"sub_[0-9a-z]{26}", message) for message in found.messages]  # their signatures are of now


def _told(place: Place) -> object:
    return Reader().read([place.tenant.organization.pk], uuid.UUID(int=0))


def _newest(form: bool) -> Read:
    def read(place: Place) -> object:
        found, is_example = newest_submission(place.tenant.organization, place.form if form else None)
        return is_example or found.pk

    return of_rows(read)


def _notices(place: Place) -> object:
    own = {"organization": place.tenant.organization}
    waiting = list(Notice.objects.filter(**own).order_by("pk").values_list("kind", "text"))
    return waiting, list(Delivery.objects.filter(**own, submission=None).order_by("pk").values_list("event", "target"))


def _positions(place: Place) -> object:
    return ReadingPosition.objects.filter(pk=place.tenant.organization.pk).values_list("last", "served").first() or (
        0,
        0,
    )


def _rows(model: Any, order: str, *names: str) -> Read:
    path = "form__organization" if model is Tally else "organization"
    return of_rows(
        lambda place: list(model.objects.filter(**{path: place.tenant.organization}).order_by(order).values(*names))
    )


_EVERY = "spam=all&held=all"
READERS: dict[str, Read] = {
    "list": get("/api/submissions"),
    "first of the list": get("/api/submissions?limit=1"),
    "end of the list": get("/api/submissions?limit=1&page=3"),
    "list of a form": get("/api/submissions?formId={form}"),
    "end of a form's list": get("/api/submissions?formId={form}&limit=1&page=3"),
    "list of everything": get(f"/api/submissions?{_EVERY}"),
    "list of spam": get("/api/submissions?spam=true"),
    "list of what is not held": get("/api/submissions?held=false"),
    "list of a time": get("/api/submissions?from=2020-01-01"),
    "search": get("/api/submissions?q=zebra"),
    "search in a form": get("/api/submissions?q=zebra&formId={form}"),
    "cursor": get("/api/submissions?cursor="),
    "cursor of a form": get("/api/submissions?cursor=&formId={form}"),
    "csv": get("/api/submissions/export"),
    "csv of a form": get("/api/submissions/export?formId={form}"),
    "json": get("/api/submissions/export?format=json"),
    "ndjson": get("/api/submissions/export?format=ndjson"),
    "ndjson of a search": get("/api/submissions/export?format=ndjson&q=zebra"),
    "files": of_rows(_files),
    "analytics": get("/api/analytics"),
    "analytics of a form": get("/api/analytics?formId={form}"),
    "forms": get("/api/forms"),
    "a form": get("/api/forms/{form}"),
    "me": me,
    "replay of a webhook": dry_run("/api/webhooks/{hook}/replay", status="all"),
    "replay of mails": dry_run(
        "/api/deliveries/replay", channel="mail", status="undelivered", **{"from": "2020-01-01", "to": "2999-01-01"}
    ),
    "stored bytes": of_rows(_stored_bytes),
    "stored bytes counted again": of_rows(lambda place: recount(place.tenant.organization)),
    "tallies": _rows(Tally, "hour"),
    "usage": _rows(UsageDay, "day"),
    "positions": of_rows(_positions),
    "live stream's reader": of_rows(_told),
    "listeners' reader": of_rows(_heard),
    "notices": of_rows(_notices),
    "preview of a receiver": _newest(form=False),
    "preview of a form's receiver": _newest(form=True),
    "overview": page("/"),
    "page of a form": page("/forms/{form}"),
    "page of replies": page("/forms/{form}/replies"),
    "page of submissions": page("/submissions"),
    "page of a form's submissions": page("/submissions?form={form}"),
    "page of spam": page("/submissions?spam=true"),
    "page of everything": page("/submissions?spam=all"),
    "page of unread ones": page("/submissions?unread=on"),
    "page of undelivered ones": page("/submissions?undelivered=on"),
    "page of unconfirmed ones": page("/submissions?unconfirmed=on"),
    "page of held ones": page("/submissions?held=on"),
    "page of a search": page("/submissions?q=zebra"),
    "page of exports": page("/submissions/export"),
    "page of forms": page("/forms"),
    "delivery log": page("/deliveries"),
    "delivery log of a form": page("/deliveries?form={form}"),
    "destinations": page("/destinations"),
    "page of usage": page("/plan"),
    "palette": page("/find?q=zebra"),
}
OF_SUBMISSIONS: dict[str, Read] = {
    "log of a destination": page("/destinations/{hook}"),
    "neighbours": page("/submissions/{live}"),
    "neighbours of an unconfirmed one": page("/submissions/{unconfirmed}"),
}
WITHOUT_ANY: dict[str, Read] = {"traffic": of_rows(lambda place: traffic_of_form(place.form))}
