"""`/dashboard/_design`: the page of tokens and components, for developers only."""

from collections.abc import Callable

import pytest

from dashboard.frame.design.icons import ICONS
from tests.services.application import Application
from tests.services.client import Client

pytestmark = pytest.mark.on_sqlite
PAGE = "/dashboard/_design"


def test_design_page__without_debug__is_not_there(api: Client) -> None:
    assert api.get(PAGE).status == 404


def test_design_page__with_debug__shows_every_icon_and_color(start_service: Callable[..., Application]) -> None:
    with Client(start_service(DEBUG="true").port) as client:
        answer = client.get(PAGE)
    assert answer.status == 200
    assert [name for name in ICONS if f"icons.svg#{name}" not in answer.text] == []
    assert [name for name in ("accent", "sunken", "danger-soft") if f"var(--{name})" not in answer.text] == []
