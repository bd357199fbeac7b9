"""Fair shares of the slots (docs/adr/0045): pure, no database."""

import copy
import dataclasses
import itertools
import uuid
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webhooks.enqueue import MAIL
from webhooks.models import WEBHOOK
from webhooks.outbox.shares import NO_LIMIT, Candidate, InFlight, Limit, Place, Shares

SLOTS = 40  # a share is 10, the reserve is 4
SHARE, UNRESERVED = 10, 36


def candidates(owner: str, count: int, *, target: str = "", host: str = "", is_urgent: bool = False) -> list[Candidate]:
    """Return due deliveries of an owner, by default to its only target on its own host."""
    place = (WEBHOOK, target or f"target of {owner}")
    return [Candidate(uuid.uuid4(), owner, place, host or f"host of {place[1]}", is_urgent) for _ in range(count)]


def on_many_hosts(owner: str, count: int) -> list[Candidate]:
    """Return due deliveries of an owner, each to its own target and host."""
    return [each for number in range(count) for each in candidates(owner, 1, target=f"{owner} {number}")]


def choose(
    waiting: Sequence[Candidate],
    *,
    slots: int = SLOTS,
    room: int = 1000,
    in_flight: InFlight | None = None,
    limits: dict[Place, Limit] | None = None,
) -> list[Candidate]:
    return Shares(slots=slots, room=room, in_flight=in_flight or InFlight(), limits=limits or {}).choose(waiting)


def by_owner(chosen: Sequence[Candidate]) -> Counter[object]:
    return Counter(each.owner for each in chosen)


def test_quarter__several_organizations_wait__each_gets_no_more() -> None:
    chosen = choose(on_many_hosts("a", 30) + on_many_hosts("b", 30))
    assert by_owner(chosen) == {"a": SHARE, "b": SHARE}


def test_quarter__in_flight_on_other_hosts__counts() -> None:
    busy = InFlight()
    busy.add("a", (WEBHOOK, "elsewhere"), "elsewhere", NO_LIMIT, 8)
    chosen = choose(on_many_hosts("a", 30) + on_many_hosts("b", 30), in_flight=busy)
    assert by_owner(chosen) == {"a": 2, "b": SHARE}


def test_quarter__of_few_slots__is_one_at_least() -> None:
    assert by_owner(choose(on_many_hosts("a", 3) + on_many_hosts("b", 3), slots=3)) == {"a": 1, "b": 1}


def test_alone__one_organization__uses_all_but_the_reserve() -> None:
    assert len(choose(candidates("a", 100))) == UNRESERVED


def test_alone__the_others_have_all_that_they_want__uses_the_rest() -> None:
    chosen = choose(candidates("a", 100) + candidates("b", 3))
    assert by_owner(chosen) == {"a": UNRESERVED - 3, "b": 3}


def test_alone__the_others_are_at_their_targets_limit__uses_the_rest() -> None:
    limits = {(WEBHOOK, "target of b"): Limit(2)}
    chosen = choose(candidates("a", 100) + candidates("b", 50), limits=limits)
    assert by_owner(chosen) == {"a": UNRESERVED - 2, "b": 2}


def test_reserve__another_holds_all_the_rest__is_for_those_that_hold_none() -> None:
    busy = InFlight()
    busy.add("a", (WEBHOOK, "target of a"), "host", NO_LIMIT, UNRESERVED)
    waiting = candidates("a", 10) + [each for name in "bcdef" for each in candidates(name, 2)]
    assert choose(waiting[:10], in_flight=busy) == []
    chosen = choose(waiting, in_flight=busy)
    assert by_owner(chosen) == {"b": 1, "c": 1, "d": 1, "e": 1}  # one each, and then no slot is left


def test_host__of_several_organizations__has_a_quarter_while_others_wait() -> None:
    crowd = [each for number in range(20) for each in candidates(f"o{number}", 5, target=f"t{number}", host="crowded")]
    chosen = choose(crowd + on_many_hosts("other", 30))
    assert Counter(each.host for each in chosen)["crowded"] == SHARE
    assert by_owner(chosen)["other"] == SHARE


def test_host__the_only_one__uses_the_rest_within_the_shares_of_organizations() -> None:
    names = ("a", "b", "c")
    crowd = [each for name in names for each in candidates(name, 50, host="only")]
    assert by_owner(choose(crowd)) == {"a": SHARE, "b": SHARE, "c": SHARE}


def test_host__unknown__has_no_share() -> None:
    waiting = [Candidate(uuid.uuid4(), owner, (WEBHOOK, owner), "") for owner in ("a", "b", "c") for _ in range(20)]
    assert by_owner(choose(waiting)) == {"a": SHARE, "b": SHARE, "c": SHARE}


def test_doubt__targets_that_are_not_proven__have_half_of_the_share() -> None:
    new = {(WEBHOOK, f"a {number}"): Limit(4, is_proven=False) for number in range(30)}
    chosen = choose(on_many_hosts("a", 30) + on_many_hosts("b", 30), limits=new)
    assert by_owner(chosen) == {"a": SHARE // 2, "b": SHARE}


def test_doubt__proven_targets_of_the_same_organization__use_the_other_half() -> None:
    new = {(WEBHOOK, f"a {number}"): Limit(4, is_proven=False) for number in range(30)}
    waiting = on_many_hosts("a", 30) + candidates("a", 30, target="proven") + on_many_hosts("b", 30)
    chosen = choose(waiting, limits=new)
    assert by_owner(chosen) == {"a": SHARE, "b": SHARE}
    assert sum(each.place in new for each in chosen) == SHARE // 2


def test_doubt__of_a_share_of_one__is_one() -> None:
    limits = {(WEBHOOK, "target of a"): Limit(4, is_proven=False)}
    assert by_owner(choose(candidates("a", 3) + candidates("b", 3), slots=4, limits=limits))["a"] == 1


def test_urgent__go_first_without_shares_and_into_the_reserve() -> None:
    urgent = [each for name in ("a", "b") for each in candidates(name, 30, is_urgent=True)]
    chosen = choose(candidates("c", 30) + urgent)
    assert len(chosen) == SLOTS
    assert all(each.is_urgent for each in chosen)


def test_limit__of_a_target__holds_over_what_is_in_flight() -> None:
    limits, busy = {(WEBHOOK, "target of a"): Limit(4)}, InFlight()
    busy.add("a", (WEBHOOK, "target of a"), "host", limits[WEBHOOK, "target of a"], 3)
    waiting = candidates("a", 1, is_urgent=True) + candidates("a", 9)
    assert choose(waiting, in_flight=busy, limits=limits) == waiting[:1]
    assert choose(candidates("a", 9), limits={(WEBHOOK, "target of a"): Limit(0)}) == []


@pytest.mark.parametrize("room", [0, 1, 7])
def test_room__of_the_process__is_never_exceeded(room: int) -> None:
    assert len(choose(candidates("a", 30) + candidates("b", 30, is_urgent=True), room=room)) == room


def test_order__the_organization_that_holds_fewest_is_first_and_its_emptiest_target() -> None:
    busy = InFlight()
    busy.add("a", (WEBHOOK, "a 0"), "host", NO_LIMIT, 2)
    busy.add("b", (WEBHOOK, "b 0"), "host", NO_LIMIT, 1)
    waiting = on_many_hosts("a", 2) + on_many_hosts("b", 2) + on_many_hosts("c", 2)
    chosen = choose(waiting, in_flight=busy, room=4)
    assert [each.place[1] for each in chosen] == ["c 0", "b 1", "c 1", "a 1"]


def test_order__of_one_target__is_that_of_the_candidates() -> None:
    waiting = candidates("a", 9)
    assert choose(waiting, room=5) == waiting[:5]


def test_many_organizations__with_long_backlogs__each_gets_as_much() -> None:
    waiting = [each for number in range(8) for each in candidates(f"o{number}", 100)]
    assert set(by_owner(choose(waiting, room=32)).values()) == {4}


def steps_of(monkeypatch: pytest.MonkeyPatch, owners: int, of_each: int) -> int:
    """Return how often a candidate is looked at, for a choice that many slots and few limits make long."""
    steps = itertools.count()
    can_start = Shares._can_start

    def counted(shares: Shares, each: Candidate) -> bool:
        next(steps)
        return can_start(shares, each)

    with monkeypatch.context() as patch:
        patch.setattr(Shares, "_can_start", counted)
        waiting = [each for number in range(owners) for each in candidates(f"o{number}", of_each)]
        choose(waiting, slots=100_000, room=100_000)
    return next(steps)


@pytest.mark.parametrize("owners", [1, 100, 10_000])
def test_cost__of_10_000_candidates__grows_with_their_number_only(monkeypatch: pytest.MonkeyPatch, owners: int) -> None:
    assert steps_of(monkeypatch, owners, 10_000 // owners) <= 3 * 10_000 + owners


OWNERS, TARGETS, HOSTS = ("a", "b", "c"), ("t0", "t1", "t2"), ("", "h0", "h1", "h2")
PLACES = {(owner, target): (WEBHOOK, f"{owner} {target}") for owner in OWNERS for target in TARGETS}


@dataclasses.dataclass
class Situation:
    """The input of a choice."""

    slots: int
    room: int
    in_flight: InFlight
    limits: dict[Place, Limit]
    waiting: list[Candidate]

    def limit_of(self, each: Candidate) -> int:
        return self.limits.get(each.place, NO_LIMIT).in_flight


@st.composite
def situations(draw: st.DrawFn) -> Situation:
    """Draw slots, room, deliveries in flight, limits and candidates; a target has one host."""
    slots, busy = draw(st.sampled_from([1, 4, 10, 20, 40])), InFlight()
    limits: dict[Place, Limit] = {}
    waiting: list[Candidate] = []
    for (owner, _), place in PLACES.items():
        host = draw(st.sampled_from(HOSTS))
        if draw(st.booleans()):
            limits[place] = Limit(draw(st.integers(0, 8)), draw(st.booleans()))
        if count := min(draw(st.integers(0, 3)), slots - busy.total):
            busy.add(owner, place, host, limits.get(place, NO_LIMIT), count)
        urgent = draw(st.sampled_from([0, 0, 0, 2]))
        numbers = range(draw(st.sampled_from([0, 1, 3, 40])) + urgent)
        waiting += [Candidate(uuid.uuid4(), owner, place, host, number < urgent) for number in numbers]
    return Situation(slots, draw(st.sampled_from([0, 3, 40, 40])), busy, limits, waiting)


@settings(max_examples=300)
@given(situations())
def test_invariants__of_any_choice(now: Situation) -> None:
    before, after = now.in_flight, copy.deepcopy(now.in_flight)
    chosen = choose(now.waiting, slots=now.slots, room=now.room, in_flight=after, limits=now.limits)
    taken = {each.pk for each in chosen}
    left = [each for each in now.waiting if each.pk not in taken and not each.is_urgent]
    # Nothing twice, nothing that did not wait, and exactly those are counted as in flight.
    assert len(chosen) == len(taken)
    assert taken <= {each.pk for each in now.waiting}
    assert after.total == before.total + len(chosen)
    # Never more than room, slots and limits.
    assert len(chosen) <= now.room
    assert not chosen or after.total <= now.slots
    for each in chosen:
        assert after.places[each.place] <= now.limit_of(each)
    check_reserve(now, chosen)
    check_shares(now, after, chosen, left)
    # One that holds nothing, and could start, is not refused while another one gets more than a first slot.
    for each in left:
        is_crowded = each.host and after.hosts[each.host] >= max(1, now.slots // 4)
        if not after.owners[each.owner] and not is_crowded and could_start(now, after, each, after.total):
            assert len(chosen) == now.room
            assert not any(before.owners[other.owner] for other in chosen if not other.is_urgent)


def could_start(now: Situation, after: InFlight, each: Candidate, total: int) -> bool:
    """Return whether its target has room and so many slots in flight leave one for it, without regard to shares."""
    slots = now.slots - (now.slots // 10 if after.owners[each.owner] else 0)
    return total < slots and after.places[each.place] < now.limit_of(each)


def check_reserve(now: Situation, chosen: Sequence[Candidate]) -> None:
    """Check that the last tenth is only for first slots of organizations that held none."""
    if not any(each.is_urgent for each in chosen):
        first_ones = {each.owner for each in chosen if not now.in_flight.owners[each.owner]}
        unreserved = max(now.slots - now.slots // 10, now.in_flight.total)
        assert now.in_flight.total + len(chosen) <= unreserved + len(first_ones)


def check_shares(now: Situation, after: InFlight, chosen: Sequence[Candidate], left: Sequence[Candidate]) -> None:
    """Check that one has more than a quarter only where no other one could start without that."""
    share = max(1, now.slots // 4)
    urgent = [each for each in chosen if each.is_urgent]
    for owner in OWNERS:
        extra = after.owners[owner] - max(share, now.in_flight.owners[owner] + by_owner(urgent)[owner])
        others = [each for each in left if each.owner != owner]
        assert extra <= 0 or not any(could_start(now, after, each, after.total - extra) for each in others)
    for host in filter(None, HOSTS):
        urgent_ones = sum(each.host == host for each in urgent)
        extra = after.hosts[host] - max(share, now.in_flight.hosts[host] + urgent_ones)
        others = [each for each in left if each.host != host]
        assert extra <= 0 or not any(could_start(now, after, each, after.total - extra) for each in others)


def test_mails_of_no_organization__hold_a_quarter_together__whoever_waits() -> None:
    asked = [
        Candidate(uuid.uuid4(), f"eve{number}@example.com", (MAIL, f"eve{number}@example.com"), "", True, True)
        for number in range(SLOTS)
    ]
    chosen = choose(asked + candidates("a", 5, is_urgent=True))
    assert Counter(each.is_asked for each in chosen) == {True: SHARE, False: 5}
    busy = InFlight()
    busy.add("bob@example.com", (MAIL, "bob@example.com"), "", NO_LIMIT, SHARE, is_asked=True)
    assert choose(asked, in_flight=busy) == []
