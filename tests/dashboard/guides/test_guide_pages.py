"""The guides over HTTP: pages, Markdown, llms.txt, their links and their refusals."""

import re
from html.parser import HTMLParser

import pytest

from dashboard.guides.library import GUIDES, NAMES
from tests.checks.citations import headings, slug
from tests.checks.sources import ROOT
from tests.services.application import Application
from tests.services.client import Client

pytestmark = pytest.mark.on_sqlite  # about documents, not rows

HOUSE = {"architecture", "design", "style"}  # for people who change the code
BROWSER = {"Accept": "text/html"}


class Reader(HTMLParser):
    """Collects links, ids and the elements that must not be in a guide."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.images: list[str] = []
        self.inline: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.links += [named["href"] or ""] if "href" in named else []
        self.ids += [named["id"] or ""] if "id" in named else []
        self.images += [named["src"] or ""] if tag in ("img", "script") else []
        self.inline += [name for name in named if name == "style" or name.startswith("on")]


@pytest.fixture(scope="module")
def pages(service: Application) -> dict[str, Reader]:
    """Return every page by its address."""
    with Client(service.port) as client:
        return {path: Reader(client.get(path).text) for path in ("/docs", *(f"/docs/{name}" for name in NAMES))}


def test_documents__of_the_folder__are_served_or_of_the_house() -> None:
    assert {path.stem for path in (ROOT / "docs").glob("*.md")} <= NAMES | HOUSE
    assert not NAMES & HOUSE


@pytest.mark.parametrize("name", GUIDES)
def test_page__of_every_guide__has_the_anchors_of_its_headings(api: Client, name: str) -> None:
    answer = api.get(f"/docs/{name}")
    assert (answer.status, answer.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    [title, *others] = re.findall(r"^#+ +(.+?) *$", without_code((ROOT / "docs" / f"{name}.md").read_text()), re.M)
    assert f"<title>{title} · Fieldpost</title>" in answer.text
    assert {slug(heading) for heading in others} <= set(Reader(answer.text).ids)
    assert {slug(one) for one in headings(ROOT / "docs" / f"{name}.md")} - {slug(title)} <= set(Reader(answer.text).ids)


def without_code(text: str) -> str:
    return re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)


def test_links__of_every_page__lead_somewhere(pages: dict[str, Reader], api: Client) -> None:
    assert len(pages) == len(GUIDES) + 1
    seen: dict[str, int] = {}
    for path, page in pages.items():
        assert "" not in page.links, path
        for link in [*page.links, *page.images]:
            target, _, anchor = link.partition("#")
            target = target or path
            if target.startswith(("http:", "https:", "mailto:")):
                continue
            status = seen.get(target) or seen.setdefault(target, api.get(target).status)
            assert status == 200 or target.startswith("/dashboard/"), (path, link)
            assert not anchor or anchor in pages[target].ids, (path, link)
    assert len(seen) > len(GUIDES) * 2


def test_pages__of_every_guide__have_unique_ids_and_no_inline_code(pages: dict[str, Reader]) -> None:
    for path, page in pages.items():
        assert len(page.ids) == len(set(page.ids)), path
        assert page.inline == [], path


def test_page__has_the_policy__and_no_cookie(api: Client) -> None:
    headers = api.get("/docs/start").headers
    policy = headers["Content-Security-Policy"].split("; ")
    assert {"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"} <= set(policy)
    assert headers["X-Frame-Options"] == "DENY"
    assert "Set-Cookie" not in headers
    assert "Cookie" not in headers.get("Vary", "")


@pytest.mark.parametrize("path", ["/docs", "/docs/api", "/docs/api.md", "/llms.txt"])
def test_document__that_a_client_has__is_304_without_content(api: Client, path: str) -> None:
    first = api.get(path)
    assert (first.status, first.headers["Cache-Control"]) == (200, "no-cache")
    again = api.get(path, headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status, again.body) == (304, b"")
    packed = api.get(path, headers={"Accept-Encoding": "gzip"})
    assert (packed.headers["Content-Encoding"], packed.body) == ("gzip", first.body)  # as the client unpacks it


def test_markdown__of_every_guide__is_the_file_without_links_that_lead_nowhere(api: Client) -> None:
    for name in GUIDES:
        answer = api.get(f"/docs/{name}.md")
        assert (answer.status, answer.headers["Content-Type"]) == (200, "text/markdown; charset=utf-8")
        targets = re.findall(r"\]\(([^()\s#:]+\.md)", without_code(answer.text))
        assert {target.removesuffix(".md") for target in targets} <= NAMES, name
    text = (ROOT / "docs" / "webhooks.md").read_text()
    assert api.get("/docs/webhooks.md").text == text, "all of its links lead to guides"


def test_llms_txt__lists_every_guide_with_its_address(api: Client, service: Application) -> None:
    answer = api.get("/llms.txt")
    assert (answer.status, answer.headers["Content-Type"]) == (200, "text/plain; charset=utf-8")
    lines = answer.text.splitlines()
    assert lines[0] == "# Fieldpost"
    assert lines[2].startswith("> ")
    listed = re.findall(r"^- \[(.+?)\]\((.+?)\): (.+)$", answer.text, re.MULTILINE)
    assert [address for _, address, _ in listed] == [f"{service.base_url}/docs/{name}.md" for name in GUIDES]


@pytest.mark.parametrize(
    "path",
    [
        *("/docs/nothing", "/docs/nothing.md", "/docs/style", "/docs/style.md", "/docs/adr", "/docs/adr/0001.md"),
        *(
            "/docs/..%2FREADME.md",
            "/docs/../README.md",
            "/docs/%00.md",
            "/docs/start.html",
            "/docs/images/overview.png",
        ),
    ],
)
def test_document__that_is_not_served__is_our_404(api: Client, path: str) -> None:
    answer = api.get(path)
    assert (answer.status, answer.json()["error"]) == (404, "not_found")
    page = api.get(path, headers=BROWSER)
    assert (page.status, "There is nothing at this address." in page.text) == (404, True)


@pytest.mark.parametrize(("path", "target"), [("/docs/", "/docs"), ("/docs/api/", "/docs/api"), ("/docs//", "/docs")])
def test_address__with_a_slash_too_many__is_redirected(api: Client, path: str, target: str) -> None:
    answer = api.get(f"{path}?a=1")
    assert (answer.status, answer.headers["Location"]) == (301, f"{target}?a=1")


@pytest.mark.parametrize("path", ["/docs", "/docs/api", "/docs/api.md", "/docs/search", "/llms.txt"])
def test_document__posted_to__is_405(api: Client, path: str) -> None:
    assert api.post(path, data="a=1").status == 405
