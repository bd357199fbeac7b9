"""
A form with a thousand submissions and one with a million, of two organizations in one database.

Runs inside `manage.py shell`, in the service's own environment, and prints one line of JSON with a `Stored` for each:

    {"small": {…}, "large": {…}}
"""

import json
from dataclasses import asdict, dataclass
from typing import Any, cast

from tests.load.arrangement import NO_LIMIT
from tests.scale.loading import load_submissions
from tests.support.browser import logged_in, person_of, place
from tests.support.tenants import make_tenant

SMALL = 1_000


@dataclass(frozen=True)
class Stored:
    """A form, a key and a session of its owner's. `list`: the address of its list in the dashboard."""

    count: int
    form_id: str
    form: str  # its id in the database
    key: str
    list: str
    cookie: str


def main(large: int) -> None:
    """Store both. The small one first: each load builds the search index again."""
    print(json.dumps({"small": asdict(_store(SMALL)), "large": asdict(_store(large))}))


def _store(count: int) -> Stored:
    tenant = make_tenant()
    tenant.organization.rate_limit = NO_LIMIT
    tenant.organization.save()
    form_id = tenant.form()
    loaded = load_submissions(tenant, form_id, count)
    browser = logged_in(cast(Any, None), person_of(tenant))  # it sends nothing: only its cookie is wanted
    address = f"{place(tenant, 'submissions')}?form={form_id}"
    return Stored(count, form_id, str(loaded.form_id), tenant.key, address, browser.headers()["Cookie"])
