"""Rendering of guides: hostile Markdown, links, names of headings; and the guides without a database."""

import re

import pytest
from django.test import Client

from dashboard.guides.rendering import Section, render

NAMES = frozenset({"api", "running"})


def html(text: str) -> str:
    return str(render(f"# Title\n\n{text}", NAMES).html)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ('a <img src=x onerror="a()">', "&lt;img src=x onerror=&quot;a()&quot;&gt;"),
        ("`<b>`", "<code>&lt;b&gt;</code>"),
        ('```html "><script>\n</code><script>\n```', "&lt;/code&gt;&lt;script&gt;"),
        ("| a |\n|---|\n| <b> |", "<td>&lt;b&gt;</td>"),
    ],
)
def test_markup__in_a_guide__is_text(text: str, shown: str) -> None:
    assert shown in html(text)
    assert not re.search("<(script|img|b)[ >]", html(text))


@pytest.mark.parametrize(
    ("target", "link"),
    [
        ("api.md", '<a href="/docs/api">x</a>'),
        ("running.md#backups", '<a href="/docs/running#backups">x</a>'),
        ("#here", '<a href="#here">x</a>'),
        ("https://example.com/a.md", '<a href="https://example.com/a.md">x</a>'),
        ("style.md", "<p>x</p>"),
        ("adr/0001-a.md", "<p>x</p>"),
        ("../README.md", "<p>x</p>"),
        ("../deploy/nginx.conf", "<p>x</p>"),
        ("/admin/", "<p>x</p>"),
    ],
)
def test_link__of_a_guide__leads_to_a_page_or_is_text(target: str, link: str) -> None:
    assert link in html(f"[x]({target})")
    source = render(f"# T\n\n[x]({target}) `[x](style.md)`", NAMES).source
    assert (f"]({target})" in source) == ("<a " in link)


def test_headings__with_equal_names__get_different_anchors_as_on_github() -> None:
    document = render("# T\n\n## A `b` (201)\n\none\n\n## A b 201\n\n**5.17 Idempotency.** two", NAMES)
    assert [heading.anchor for heading in document.headings] == ["a-b-201", "a-b-201-1"]
    assert document.sections[1:] == (
        Section(2, "A b (201)", "a-b-201", "one"),
        Section(2, "A b 201", "a-b-201-1", ""),
        Section(0, "5.17 Idempotency", "5.17", "5.17 Idempotency. two"),
    )


@pytest.mark.parametrize("path", ["/docs", "/docs/running", "/docs/running.md", "/docs/search?q=outage", "/llms.txt"])
def test_guide__without_a_database__is_there(path: str) -> None:
    """A test that asks for no database gets none."""
    assert Client().get(path).status_code == 200
