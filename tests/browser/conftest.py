"""Tests in Debian's Chromium: pages of a site owner, on another origin than the running service."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from tests.services.application import Application
from tests.services.client import Client
from tests.services.packages import program
from tests.support.chromium.coverage import BranchCoverage, instrumented_source
from tests.support.chromium.screens import Furnished, furnish
from tests.support.chromium.site import Site
from tests.support.chromium.visitor import Visitor
from tests.support.tenants import Tenant, make_tenant

MOST_MILLISECONDS = 30_000  # for what a page must show or do; other suites run at the same time
expect.set_options(timeout=MOST_MILLISECONDS)
LEAST_PERCENT = 90  # of the branches of forms.js, taken by a whole session
BRANCHES = pytest.StashKey[BranchCoverage]()
IS_PART = pytest.StashKey[bool]()  # tests were left out
COUNTS = "window.__coverage__ || null"
# Not at `pagehide`: from then on Chromium drops the page's calls to Playwright.
SAVE_AT_THE_END = f"addEventListener('beforeunload', () => window.saveCoverage(JSON.stringify({COUNTS})))"


def pytest_configure(config: pytest.Config) -> None:
    config.stash[BRANCHES], config.stash[IS_PART] = BranchCoverage(), False


def pytest_deselected(items: list[pytest.Item]) -> None:
    items[0].config.stash[IS_PART] = True


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail a whole session that took too few branches of forms.js. A part of the tests takes fewer and may."""
    if exitstatus == pytest.ExitCode.OK and is_whole(session) and branches_of(session.config) < LEAST_PERCENT:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def is_whole(session: pytest.Session) -> bool:
    """Return whether every test of this directory ran."""
    modules = {item.path for item in session.items}
    left_out = set(Path(__file__).parent.rglob("test_*.py")) - modules
    is_part = session.config.stash[IS_PART] or session.config.option.collectonly
    return not left_out and not is_part


def branches_of(config: pytest.Config) -> float:
    """Return the taken branches in percent."""
    return config.stash[BRANCHES].percent


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the figure, which is worth reading when it is good, too."""
    branches = config.stash[BRANCHES]
    terminalreporter.section("branches of forms.js")
    terminalreporter.line(f"{branches.percent:.1f} % of {len(branches.taken)}; the bound is {LEAST_PERCENT} %")
    terminalreporter.line(f"not taken: {branches.missing()}")


@pytest.fixture(scope="session", autouse=True)
def _running(service: Application) -> Iterator[None]:  # noqa: ARG001  # the service is there first
    """
    Start the service, and with it the schema, before a test arranges anything.

    Playwright's own loop runs in this thread, so Django would refuse every query that a test arranges with. A variable
    allows them in this process only: the service has started without it.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        yield


@pytest.fixture(scope="session")
def django_db_setup() -> None:
    pytest.fail("browser tests share the running service's database: leave out the django_db mark and its fixtures")


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """Return the options of Debian's Chromium, without its sandbox, which root may not use."""
    return {**browser_type_launch_args, "executable_path": program("chromium"), "args": ["--no-sandbox"]}


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    with Site() as server:
        yield server


@pytest.fixture(scope="session")
def coverage(pytestconfig: pytest.Config) -> BranchCoverage:
    return pytestconfig.stash[BRANCHES]


@pytest.fixture(scope="session")
def source_with_counters() -> str:
    return instrumented_source()


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


@pytest.fixture(scope="module")
def furnished() -> Furnished:
    return furnish()


@pytest.fixture
def context_options(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Return the value of `@pytest.mark.parametrize("context_options", […], indirect=True)`; `{}` by default."""
    return getattr(request, "param", {})


@pytest.fixture
def clean_context(browser: Browser, context_options: dict[str, Any]) -> Iterator[BrowserContext]:
    """Yield a browser without history that gets forms.js as the service serves it. No cookie may be left in it."""
    context = browser.new_context(**context_options)
    context.set_default_timeout(MOST_MILLISECONDS)
    yield context
    cookies = context.cookies()
    context.close()
    assert cookies == [], "a page without login needs no cookie"


@pytest.fixture
def counting_context(
    clean_context: BrowserContext, service: Application, source_with_counters: str, coverage: BranchCoverage
) -> Iterator[BrowserContext]:
    """Yield the same, with counters in forms.js."""
    headers = {"Content-Type": "text/javascript", "Access-Control-Allow-Origin": "*"}
    clean_context.route(
        f"{service.base_url}/forms.js", lambda route: route.fulfill(body=source_with_counters, headers=headers)
    )
    clean_context.expose_binding("saveCoverage", lambda source, text: coverage.add(json.loads(text)))
    clean_context.add_init_script(SAVE_AT_THE_END)
    yield clean_context
    for page in clean_context.pages:
        for frame in page.frames:
            coverage.add(frame.evaluate(COUNTS))


def _visit(context: BrowserContext, site: Site, tenant: Tenant, api: Client, url: str) -> Iterator[Visitor]:
    visitor = Visitor(context.new_page(), site, tenant, api, url)
    yield visitor
    assert visitor.unforgiven() == []


@pytest.fixture
def visitor(
    counting_context: BrowserContext, site: Site, tenant: Tenant, api: Client, service: Application
) -> Iterator[Visitor]:
    """Yield a visitor of a page whose forms.js counts its branches."""
    yield from _visit(counting_context, site, tenant, api, service.base_url)


@pytest.fixture
def plain_visitor(
    clean_context: BrowserContext, site: Site, tenant: Tenant, api: Client, service: Application
) -> Iterator[Visitor]:
    """Yield a visitor of a page that gets everything as the service serves it."""
    yield from _visit(clean_context, site, tenant, api, service.base_url)
