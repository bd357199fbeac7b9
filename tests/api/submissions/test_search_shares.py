"""Searches at the same time are bounded for each organization (docs/contract.md 5.50)."""

import uuid
from collections.abc import Callable

import pytest

from config.api.errors import RateLimited
from submissions.reading.searches_at_once import searching
from tests.services.application import Application
from tests.services.client import Client
from tests.support.browser import logged_in, person_of, place, text_of
from tests.support.replies import failure
from tests.support.tenants import make_tenant

pytestmark = pytest.mark.on_sqlite
BUSY = "Your organization runs 0 searches already. Try again when one has ended."


def test_search__over_the_share__is_429_and_a_plain_list_is_not(shared_service: Callable[..., Application]) -> None:
    tenant = make_tenant()
    with Client(shared_service(SEARCHES_AT_ONCE="0").port) as api:
        over = api.get("/api/submissions?q=hello", tenant.key)
        assert (over.status, over.json()) == (429, failure("rate_limited", BUSY))
        assert over.headers["Retry-After"] == "1"
        assert api.get("/api/submissions", tenant.key).status == 200
        owner = logged_in(api, person_of(tenant))
        for page in ("submissions", "submissions/export"):
            answer = owner.get(place(tenant, f"{page}?q=hello"))
            assert (answer.status, BUSY in text_of(answer)) == (429, True)
            assert owner.get(place(tenant, page)).status == 200


def test_share__of_one_organization__is_given_back_and_leaves_others_theirs() -> None:
    one, other = uuid.uuid4(), uuid.uuid4()
    with searching(one, "a"), searching(one, "b"), searching(one, "c"):
        with pytest.raises(RateLimited), searching(one, "d"):
            pass
        with searching(other, "a"), searching(one, ""):
            pass
    with searching(one, "again"):
        pass
