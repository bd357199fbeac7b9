"""The hour's counter: places that are given back are free again, and no others."""

import uuid

import pytest
import time_machine

from config.api import ratelimit
from config.base.times import now

pytestmark = pytest.mark.django_db  # others run on SQLite only
LIMIT = 10


def test_hour__given_back_more_often_than_it_was_counted__has_its_places_and_no_more() -> None:
    organization = uuid.uuid4()
    with time_machine.travel(now(), tick=False):
        taken, usage = ratelimit.reserve_for_pages(organization, LIMIT, 2)
        counts = [ratelimit.give_back(usage, number).count for number in (1, 2, 5)]
        assert (taken, counts) == (2, [1, 0, 0])
        assert ratelimit.reserve_for_pages(organization, LIMIT, LIMIT)[0] == LIMIT * ratelimit.PAGES_PERCENT // 100
        assert ratelimit.peek_organization(organization, LIMIT).count == 9


def test_hour__given_back_in_the_next_one__has_its_places_and_no_more() -> None:
    organization = uuid.uuid4()
    with time_machine.travel(now(), tick=False) as clock:
        _, usage = ratelimit.reserve_for_pages(organization, LIMIT)
        clock.shift(ratelimit.HOUR)
        assert ratelimit.give_back(usage).count == 0
        assert [ratelimit.count_organization(organization, LIMIT).count for _ in range(2)] == [1, 2]
