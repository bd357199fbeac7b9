"""The committed style sheet, typeface and icons are those of their sources."""

import re
from pathlib import Path

import pytest
from django.template import Context, Template, TemplateSyntaxError

from dashboard.frame.design.build import TOOLS, build_all
from dashboard.frame.design.icons import ICONS
from dashboard.frame.design.menu import PAGES
from tests.services.processes import ROOT

SHOWN = re.compile(r'{% icon "([a-z0-9-]+)" %}')


@pytest.mark.slow
def test_built_files__after_a_change__are_built_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    stale = [name for name, content in build_all(TOOLS) if Path(name).read_bytes() != content]
    assert stale == [], "run `make design` and commit what it writes"


def test_sprite__has_every_icon_that_templates_show__and_no_other() -> None:
    texts = [path.read_text() for path in Path(ROOT / "templates").rglob("*.html")]
    shown = {name for text in texts for name in SHOWN.findall(text)} | {page.icon for page in PAGES}
    assert shown == set(ICONS)


def test_icon__that_is_not_in_the_sprite__is_an_error_in_the_template() -> None:
    with pytest.raises(TemplateSyntaxError, match="'rocket' is not in"):
        Template('{% load dashboard %}{% icon "rocket" %}').render(Context())


def test_icon__is_one_of_the_sprite_and_hidden_from_screen_readers() -> None:
    text = Template('{% load dashboard %}{% icon "inbox" %}').render(Context())
    address = r"/static/vendor/lucide/icons\.[0-9a-f]{12}\.svg#inbox"
    assert re.fullmatch(rf'<svg class="icon" aria-hidden="true"><use href="{address}"/></svg>', text)
