"""The menu of every page: the organization, the user's others, and whether it is folded."""

import dataclasses

from django.db.models import QuerySet
from django.http import HttpRequest

from dashboard.access import Member, last_visited, others_of
from keys.models import Organization
from webhooks.receivers.actions import needing_attention

FOLDED = ("fieldpost_menu", "folded")  # a cookie that the fold button sets, so that no page is drawn twice


@dataclasses.dataclass(frozen=True, slots=True)
class Surroundings:
    """The menu of one page. Without an organization, `member` is None."""

    member: Member | None
    others: QuerySet[Organization]
    is_folded: bool


def destinations_waiting(member: Member) -> int:
    """Return how many destinations need attention, for those who may correct them."""
    return needing_attention(member.organization).count() if member.may_manage else 0


def surroundings_of(request: HttpRequest) -> Surroundings:
    """Return the menu of the organization that the page is in, or of the one that the user visited last."""
    member = getattr(request, "member", None) or last_visited(request)
    others = others_of(member) if member else Organization.objects.none()
    name, value = FOLDED
    return Surroundings(member, others, member is not None and request.COOKIES.get(name) == value)
