"""Keys and addresses that several requests take and give up at the same time (docs/contract.md 4.15, 6.65)."""

import secrets
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from config.base.ids import Prefix, decode_id
from forms_app.models import Form, FormerAddress
from tests.api.forms import documents
from tests.services.client import Answer, Client
from tests.support.tenants import Tenant, make_tenant

ROUNDS = 5


class Owned:
    """A form of a tenant, at an address that no other test has."""

    def __init__(self, tenant: Tenant) -> None:
        self.tenant, self.at = tenant, free_address()
        self.id = tenant.form(name=f"Form at {self.at}", address=self.at)
        self.key = self.row().key

    def row(self) -> Form:
        return Form.objects.get(pk=decode_id(Prefix.FORM, self.id))

    def places(self) -> tuple[str | None, list[str]]:
        """Return the address, and those that lead to it."""
        former = FormerAddress.objects.filter(form=self.row()).order_by("address")
        return self.row().address, list(former.values_list("address", flat=True))


Move = Callable[[Client, Owned, str | None], Answer]


def free_address() -> str:
    return f"at-{secrets.token_hex(6)}"


def two_forms(is_one: bool) -> tuple[Owned, Owned]:
    """Return two forms, of one organization or of two."""
    tenant = make_tenant()
    return Owned(tenant), Owned(tenant if is_one else make_tenant())


def patch(api: Client, form: Owned, address: str | None) -> Answer:
    return api.patch(f"/api/forms/{form.id}", form.tenant.key, json={"address": address})


def put(api: Client, form: Owned, address: str | None) -> Answer:
    return documents.put(api, form.tenant, {"name": "Moved", "address": address}, key=form.key)


def archive(api: Client, form: Owned, _address: str | None) -> Answer:
    return api.delete(f"/api/forms/{form.id}", form.tenant.key)


def at_once(*requests: Callable[[], Answer]) -> list[Answer]:
    """Return the answers of requests that leave at the same time, in their order."""
    barrier = threading.Barrier(len(requests))

    def send(request: Callable[[], Answer]) -> Answer:
        barrier.wait()
        return request()

    with ThreadPoolExecutor(len(requests)) as threads:
        return list(threads.map(send, requests))


def statuses(answers: Sequence[Answer]) -> list[int]:
    for answer in answers:
        assert answer.status < 400 or answer.json()["error"] == "conflict", answer.text
    return [answer.status for answer in answers]


by_any_way = pytest.mark.parametrize("moves", [(patch, patch), (put, put), (patch, put)])
of_one_or_two = pytest.mark.parametrize("is_one", [True, False], ids=["one organization", "two organizations"])


@by_any_way
@of_one_or_two
def test_one_free_address__for_two_forms__is_that_of_one(moves: tuple[Move, Move], is_one: bool, api: Client) -> None:
    for _ in range(ROUNDS):
        forms, wanted = two_forms(is_one), free_address()

        answers = at_once(*(partial(move, api, form, wanted) for move, form in zip(moves, forms, strict=True)))

        assert sorted(statuses(answers)) == [200, 409]
        for form, answer in zip(forms, answers, strict=True):
            assert form.places() == ((wanted, [form.at]) if answer.status == 200 else (form.at, []))


@of_one_or_two
def test_one_free_address__for_two_new_forms__is_that_of_one(is_one: bool, api: Client) -> None:
    for _ in range(ROUNDS):
        first, document = make_tenant(), {"name": "New", "address": free_address()}
        second = first if is_one else make_tenant()

        answers = at_once(
            partial(documents.put, api, first, document, key="one"),
            partial(documents.put, api, second, document, key="two"),
        )

        assert sorted(statuses(answers)) == [201, 409]
        made = Form.objects.filter(organization__in=[first.organization, second.organization], name="New")
        assert [form.address for form in made] == [document["address"]]


@pytest.mark.parametrize("give_up", [patch, put, archive])
@of_one_or_two
def test_address__taken_while_its_form_gives_it_up__leads_on_to_that(give_up: Move, is_one: bool, api: Client) -> None:
    for _ in range(ROUNDS):
        giver, taker = two_forms(is_one)

        answers = at_once(partial(give_up, api, giver, None), partial(patch, api, taker, giver.at))

        assert statuses(answers) == [200, 409]
        assert giver.places() == (None, [giver.at])
        assert taker.places() == (taker.at, [])


@by_any_way
@of_one_or_two
def test_two_forms__that_change_places__both_stay(moves: tuple[Move, Move], is_one: bool, api: Client) -> None:
    for _ in range(ROUNDS):
        first, second = two_forms(is_one)

        answers = at_once(partial(moves[0], api, first, second.at), partial(moves[1], api, second, first.at))

        assert statuses(answers) == [409, 409]
        assert (first.places(), second.places()) == ((first.at, []), (second.at, []))


def test_one_form__moved_twice_at_once__keeps_every_address(api: Client) -> None:
    for _ in range(ROUNDS):
        form, wanted = Owned(make_tenant()), [free_address(), free_address()]

        answers = at_once(partial(patch, api, form, wanted[0]), partial(put, api, form, wanted[1]))

        assert statuses(answers) == [200, 200]
        address, former = form.places()
        assert sorted([str(address), *former]) == sorted([form.at, *wanted])


@pytest.mark.parametrize(("header", "expected"), [({}, [200, 201]), ({"If_None_Match": "*"}, [201, 412])])
def test_two_puts__of_one_new_key__make_one_form(header: dict[str, str], expected: list[int], api: Client) -> None:
    for _ in range(ROUNDS):
        tenant = make_tenant()

        answers = at_once(*(partial(documents.put, api, tenant, {"name": name}, **header) for name in ("Ada", "Bob")))

        assert sorted(answer.status for answer in answers) == expected
        assert Form.objects.filter(organization=tenant.organization, key="orders").count() == 1


def test_two_puts__that_have_seen_the_same_document__change_it_once(api: Client) -> None:
    for _ in range(ROUNDS):
        tenant = make_tenant()
        seen = documents.put(api, tenant, {"name": "Orders"}).headers["ETag"]

        first, second = (partial(documents.put, api, tenant, {"name": name}, If_Match=seen) for name in ("Ada", "Bob"))
        answers = at_once(first, second)

        assert sorted(answer.status for answer in answers) == [200, 412]
        winner = "Ada" if answers[0].status == 200 else "Bob"
        assert documents.get(api, tenant).json()["data"]["name"] == winner
