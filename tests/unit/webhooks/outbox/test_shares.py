"""Fair shares of the slots (docs/adr/0045): pure, no database."""

import itertools
import uuid
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webhooks.enqueue import WEBHOOK
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


OWNERS, TARGETS, HOSTS = ("a", "b", "c", "d", "e"), ("t0", "t1"), ("", "h0", "h1")
PLACES = {(owner, target): (WEBHOOK, f"{owner} {target}") for owner in OWNERS for target in TARGETS}


@st.composite
def situations(draw: st.DrawFn) -> tuple[int, int, InFlight, dict[Place, Limit], list[Candidate]]:
    """Draw slots, room, deliveries in flight, limits and candidates; a target has one host."""
    host_of = {place: draw(st.sampled_from(HOSTS)) for place in PLACES.values()}
    numbers, proven = st.integers(0, 8), st.booleans()
    limited = draw(st.sets(st.sampled_from(sorted(PLACES.values()))))
    limits = {place: Limit(draw(numbers), draw(proven)) for place in sorted(limited)}
    slots, busy = draw(st.integers(1, 44)), InFlight()
    for (owner, _), place in PLACES.items():
        if count := min(draw(st.integers(0, 3)), slots - busy.total):
            busy.add(owner, place, host_of[place], limits.get(place, NO_LIMIT), count)
    chosen_from = st.tuples(st.sampled_from(sorted(PLACES)), st.sampled_from([False, False, False, True]))
    waiting = [
        Candidate(uuid.UUID(int=number), key[0], PLACES[key], host_of[PLACES[key]], is_urgent)
        for number, (key, is_urgent) in enumerate(draw(st.lists(chosen_from, max_size=60)))
    ]
    return slots, draw(st.integers(0, 44)), busy, limits, waiting


def copy_of(busy: InFlight) -> InFlight:
    return InFlight(Counter(busy.owners), Counter(busy.doubted), Counter(busy.hosts), Counter(busy.places), busy.total)


@settings(max_examples=300)
@given(situations())
def test_invariants__of_any_choice(situation: tuple[int, int, InFlight, dict[Place, Limit], list[Candidate]]) -> None:
    slots, room, before, limits, waiting = situation
    after = copy_of(before)
    chosen = choose(waiting, slots=slots, room=room, in_flight=after, limits=limits)
    share, reserve = max(1, slots // 4), slots // 10
    # Never the same one twice, nothing that did not wait, and exactly those counted as in flight.
    assert len(chosen) == len({each.pk for each in chosen})
    assert {each.pk for each in chosen} <= {each.pk for each in waiting}
    assert after.total == before.total + len(chosen)
    # Never more than room, slots and limits.
    assert len(chosen) <= room
    assert not chosen or after.total <= slots
    for place, count in Counter(each.place for each in chosen).items():
        assert before.places[place] + count <= limits.get(place, NO_LIMIT).in_flight
    # Without urgent ones, the last tenth goes only to organizations that held none.
    usual = [each for each in chosen if not each.is_urgent]
    if not any(each.is_urgent for each in waiting):
        first_ones = len({each.owner for each in usual if not before.owners[each.owner]})
        assert after.total <= max(slots - reserve, before.total) + first_ones
    left = [each for each in waiting if each not in chosen and not each.is_urgent]
    could_start = [
        each
        for each in left
        if after.places[each.place] < limits.get(each.place, NO_LIMIT).in_flight
        and after.total < (slots if not after.owners[each.owner] else slots - reserve)
    ]
    # No organization got more than its quarter while another one still waits that could start, and no host either.
    if len(chosen) < room:
        for owner, count in Counter(each.owner for each in usual).items():
            if any(each.owner != owner for each in could_start):
                assert before.owners[owner] + count <= max(share, before.owners[owner]), owner
        for host, count in Counter(each.host for each in usual if each.host).items():
            if any(each.host != host for each in could_start):
                assert before.hosts[host] + count <= max(share, before.hosts[host]), host
    # One that holds nothing, and whose target and host have room, is not refused while anybody else gets a slot.
    for each in could_start:
        has_host = not each.host or after.hosts[each.host] < share
        if usual and has_host and not after.owners[each.owner]:
            assert len(chosen) == room, each
            assert all(before.owners[other.owner] == 0 for other in usual), each
