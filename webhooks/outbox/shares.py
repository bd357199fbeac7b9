"""
Fair shares of the slots (docs/adr/0045): which of the waiting deliveries start now. No query.

A slot is one request in flight. Slots are counted over all hosts, and mails have separate ones. While others wait, an
organization and a receiving host hold at most a quarter of them. A tenth is kept for organizations that hold none.
While nobody else waits, an organization may use the rest. Targets that have not shown that they answer quickly hold at
most half of what their organization may hold. Mails that belong to no organization, which anybody can ask for, hold at
most a quarter together, in any case: they are urgent, and would take every slot.

A delivery whose last claim was lost may have killed its process. So a process sends few of these suspects at a time,
and one whose next loss is an attempt without any other: no neighbor loses an attempt with it (docs/adr/0109).
"""

import dataclasses
import heapq
import itertools
import uuid
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from webhooks.enqueue import MAIL

Owner = uuid.UUID | str  # the organization; for a mail to an account, its target
Place = tuple[str, str]  # channel and target

WAITING_SHARE = 4  # an organization or a host has one part in four while others wait
RESERVED_SHARE = 10  # one part in ten is kept for organizations that hold none
DOUBTED_SHARE = 2  # one part in two of an organization's share is for targets that are not proven
SUSPECTS = 16  # places of a process for deliveries whose last claim was lost
PLACES = (0, 1, SUSPECTS)  # that one takes, by claims lost in a row: none, one, more


def suspicion(lost_claims: int) -> int:
    """Return how many places for suspects a delivery takes that has lost so many claims in a row."""
    return PLACES[min(lost_claims, len(PLACES) - 1)]


class Slots(NamedTuple):
    """Numbers of requests in flight: mails have separate slots."""

    others: int
    mails: int


@dataclasses.dataclass(frozen=True, slots=True)
class Candidate:
    """
    A due delivery. `host`: the receiving host, "" for none. Urgent ones have no shares and go before all others.

    `is_asked`: it belongs to no organization: a code, or another mail about an account.
    """

    pk: uuid.UUID
    owner: Owner
    place: Place
    host: str
    is_urgent: bool = False
    is_asked: bool = False
    suspicion: int = 0

    @property
    def is_mail(self) -> bool:
        return self.place[0] == MAIL


@dataclasses.dataclass(frozen=True, slots=True)
class Limit:
    """The number of requests that a target may have in flight, and whether it has shown that it answers quickly."""

    in_flight: int
    is_proven: bool = True


NO_LIMIT = Limit(2**31)


@dataclasses.dataclass(slots=True)
class InFlight:
    """Deliveries in flight over all hosts. `suspects`: places that suspects take in this process."""

    owners: Counter[Owner] = dataclasses.field(default_factory=Counter)
    doubted: Counter[Owner] = dataclasses.field(default_factory=Counter)  # to targets that are not proven
    hosts: Counter[str] = dataclasses.field(default_factory=Counter)
    places: Counter[Place] = dataclasses.field(default_factory=Counter)
    total: int = 0
    asked: int = 0  # of no organization
    suspects: int = 0

    def add(
        self, owner: Owner, place: Place, host: str, limit: Limit, count: int = 1, *, is_asked: bool = False
    ) -> None:
        self.total += count
        self.asked += count if is_asked else 0
        self.owners[owner] += count
        self.places[place] += count
        if host:
            self.hosts[host] += count
        if not limit.is_proven:
            self.doubted[owner] += count


class Shares:
    """
    Chooses among candidates, and counts those that it chose as in flight.

    `slots`: those of all hosts. `room`: how many deliveries this process can start. `limits`: of targets; a missing
    one has none.
    """

    def __init__(self, *, slots: int, room: int, in_flight: InFlight, limits: Mapping[Place, Limit]) -> None:
        self._room, self._in_flight, self._limits = room, in_flight, limits
        self._slots = slots
        self._unreserved = slots - slots // RESERVED_SHARE
        self._share = max(1, slots // WAITING_SHARE)

    def choose(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        """Return the deliveries to start: urgent ones, then one of each organization in turn, the fewest first."""
        candidates = list(candidates)
        if self._room <= 0 or not candidates:
            return []
        chosen = [each for each in candidates if each.is_urgent and self._take(each, self._slots, self._slots)]
        waiting = [each for each in candidates if not each.is_urgent]
        chosen += self._in_turn(waiting, self._share, self._share)
        taken = {each.pk for each in chosen}
        left = [each for each in waiting if each.pk not in taken and self._can_start(each)]
        # An organization that waits uses the rest, while all others have as many slots as they may.
        is_alone = len({each.owner for each in left}) == 1
        has_one_host = len({each.host for each in left}) == 1
        if left and self._room > 0 and (is_alone or has_one_host):
            share = self._unreserved if is_alone else self._share
            chosen += self._in_turn(left, share, self._slots if has_one_host else self._share)
        return chosen

    def _in_turn(self, candidates: Iterable[Candidate], of_owner: int, of_host: int) -> Iterator[Candidate]:
        """Take candidates within these shares: of the owner that holds fewest, to its target that holds fewest."""
        queues: dict[Owner, dict[tuple[Place, int], deque[Candidate]]] = defaultdict(lambda: defaultdict(deque))
        for each in candidates:
            queues[each.owner][each.place, each.suspicion].append(each)
        number = itertools.count()
        owners = [(self._in_flight.owners[owner], next(number), owner) for owner in queues]
        places = {
            owner: [(self._in_flight.places[key[0]], next(number), key) for key in own] for owner, own in queues.items()
        }
        heapq.heapify(owners)
        for heap in places.values():
            heapq.heapify(heap)
        while owners and self._room > 0:
            _, _, owner = heapq.heappop(owners)
            heap = places[owner]
            while heap:
                _, _, key = heapq.heappop(heap)
                queue = queues[owner][key]
                # All of a queue have the same target and suspicion, so what refuses its first one refuses the others.
                if queue and self._take(queue[0], of_owner, of_host):
                    yield queue.popleft()
                    heapq.heappush(heap, (self._in_flight.places[key[0]], next(number), key))
                    heapq.heappush(owners, (self._in_flight.owners[owner], next(number), owner))
                    break

    def _take(self, each: Candidate, of_owner: int, of_host: int) -> bool:
        """Count the candidate as in flight, if it may start within these shares."""
        if self._room <= 0 or not self._can_start(each):
            return False
        limit, in_flight = self._limits.get(each.place, NO_LIMIT), self._in_flight
        if each.is_asked and in_flight.asked >= self._share:
            return False
        has_share = in_flight.owners[each.owner] < of_owner and (not each.host or in_flight.hosts[each.host] < of_host)
        if not has_share or (
            not limit.is_proven and in_flight.doubted[each.owner] >= max(1, of_owner // DOUBTED_SHARE)
        ):
            return False
        in_flight.add(each.owner, each.place, each.host, limit, is_asked=each.is_asked)
        in_flight.suspects += each.suspicion
        self._room -= 1
        return True

    def _can_start(self, each: Candidate) -> bool:
        """Return whether its target has room, the slots have, and a suspect has, without regard to shares."""
        if each.suspicion and self._in_flight.suspects + each.suspicion > SUSPECTS:
            return False
        has_reserve = each.is_urgent or not self._in_flight.owners[each.owner]
        free_for_it = self._slots if has_reserve else self._unreserved
        limit = self._limits.get(each.place, NO_LIMIT)
        return self._in_flight.total < free_for_it and self._in_flight.places[each.place] < limit.in_flight
