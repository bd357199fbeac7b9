"""Fixtures of every suite that talks to a running service: `service`, `api`, `receiver`, `smtp` and others."""

import os
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest
from pytest_django import DjangoDbBlocker

from tests.services.application import ALL_ROLES, Application, LoneRole
from tests.services.client import Client
from tests.services.environment import BACKEND_VARIABLE
from tests.services.processes import free_port
from tests.services.receivers import MailReceiver, Receiver


@pytest.fixture(scope="session")
def backend() -> str:
    """Return `sqlite` or `postgresql`."""
    return os.environ[BACKEND_VARIABLE]


@pytest.fixture(scope="session")
def smtp() -> Iterator[MailReceiver]:
    """Yield the receiver of all mail of the session; a test looks for its own recipient."""
    with MailReceiver() as receiver:
        yield receiver


@pytest.fixture(scope="session")
def live_database(django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """
    Open the running service's own database to this process: tests arrange by calling the code's functions here.

    No separate test database is made and nothing is rolled back, because the service could not see it; a test makes its
    own organization instead.
    """
    with django_db_blocker.unblock():
        yield


@pytest.fixture(scope="session")
def service(
    backend: str,
    smtp: MailReceiver,
    live_database: None,  # noqa: ARG001  # the schema is there first
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Application]:
    """Yield the running service: `base_url`, `port`, `processes` by role, `manage(...)`, `logs()`."""
    environment = {**os.environ, "EMAIL_URL": smtp.url}
    directory = tmp_path_factory.mktemp("service")
    with Application(environment, directory, backend=backend, forked=("worker", "beat")) as application:
        yield application


@pytest.fixture
def start_service(service: Application, tmp_path: Path) -> Iterator[Callable[..., Application]]:
    """
    Yield `start_service(TRUSTED_PROXY_COUNT="1")`: it starts a role with other settings over the same database.

    The role is one `web` process, the live stream with `role="events"`, or with `role="serve"` what the session's
    service has: as many web processes and, with `streams=True` and `delivers=True`, the rest. It stops with the test.
    """
    with ExitStack() as stack:

        def start(role: str = "web", *, delivers: bool = False, streams: bool = False, **settings: str) -> Application:
            another = _another(service, tmp_path, settings, role=role, delivers=delivers, streams=streams)
            return stack.enter_context(another)

        yield start


@pytest.fixture(scope="session")
def shared_service(
    service: Application, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., Application]]:
    """
    Yield the same, started once for all tests with the same role and settings, and stopped with the session.

    Starting one takes seconds. For tests that only send requests: they must not change it.
    """
    started: dict[tuple[str, frozenset[tuple[str, str]]], Application] = {}
    with ExitStack() as stack:

        def share(role: str = "web", **settings: str) -> Application:
            key = (role, frozenset(settings.items()))
            if key not in started:
                another = _another(service, tmp_path_factory.mktemp("shared"), settings, role=role, forked=ALL_ROLES)
                started[key] = stack.enter_context(another)
            return started[key]

        yield share


def _another(
    service: Application,
    directory: Path,
    settings: Mapping[str, str],
    *,
    role: str,
    delivers: bool = False,
    streams: bool = False,
    forked: Collection[str] = (),
) -> Application:
    port, events_port = free_port(), free_port()
    addresses = {"PORT": str(port), "PUBLIC_URL": f"http://127.0.0.1:{port}"}
    addresses |= {"EVENTS_PORT": str(events_port), "EVENTS_URL": f"http://127.0.0.1:{events_port}"}
    environment, place = {**service.environment, **addresses}, directory / f"service-{port}"
    if role != "serve":
        return LoneRole({**environment, **settings}, place, role=role, backend=service.backend)
    environment.update(settings)
    return Application(
        environment,
        place,
        backend=service.backend,
        delivers=delivers,
        streams=streams,
        migrates=False,
        forked=forked,
    )


@pytest.fixture
def api(service: Application) -> Iterator[Client]:
    """Yield a client of the service with a loopback address that no other test sends from."""
    with Client(service.port) as client:
        yield client


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """Yield a customer's HTTP server, fresh for each test."""
    with Receiver() as server:
        yield server


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the service's output to the report of a failed test."""
    report = yield
    service = getattr(item, "funcargs", {}).get("service")
    if isinstance(service, Application):
        if report.failed:
            report.sections += [(f"the service's {role} printed", log) for role, log in service.logs().items()]
        if report.when == "teardown":
            service.forget_logs()
    return report
