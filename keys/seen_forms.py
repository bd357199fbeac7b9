"""
The filter of a member: all forms of the organization, or chosen ones (docs/contract.md 2.70); live or test data (12.8).

It is the one filter of what people see. Pages, streams, files and mails ask it; keys see the whole organization.
"""

import dataclasses
import uuid
from typing import TypeVar

from django.db.models import Model, QuerySet

from keys.models import Invitation, Membership

M = TypeVar("M", bound=Model)


@dataclasses.dataclass(frozen=True, slots=True)
class SeenForms:
    """`ids`: None for every form of the organization, later ones too. `test`: only tests, else only live data."""

    organization_id: uuid.UUID
    ids: frozenset[uuid.UUID] | None = None
    test: bool = False

    @classmethod
    def of(cls, membership: Membership | Invitation, *, test: bool = False) -> "SeenForms":
        chosen = membership.form_ids
        return cls(membership.organization_id, None if chosen is None else frozenset(map(uuid.UUID, chosen)), test)

    @property
    def are_chosen(self) -> bool:
        return self.ids is not None

    def includes(self, form_id: uuid.UUID) -> bool:
        return self.ids is None or form_id in self.ids

    def narrow(self, rows: QuerySet[M], form: str = "form_id") -> QuerySet[M]:
        """Return the organization's rows that belong to a seen form. `form`: the name of their form's id."""
        rows = rows.filter(organization_id=self.organization_id)
        return rows if self.ids is None else rows.filter(**{f"{form}__in": self.ids})
