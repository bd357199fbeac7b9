"""
Trace one POST /api/submit through its WSGI application and print every file of ours that it enters.

    python -m tests.load.trace_submit

The service runs in this process over a fresh SQLite file, after a request to warm up; `sys.setprofile` reports every
frame from its call until the INSERT of the row. Before it, `config/web_server/` has read the request. A
file is *entered* when a frame of it is called by another file of ours (or by none); libraries in between do not count,
and neither does coming back from a call. A file that is entered again is *returned to*. Leaves are the modules of
`LEAVES`: they only turn one value into another, and are listed and counted apart.

Exits with 1 when a post passes its bound. With Redis, `config/base/redis_caches.py` counts below Django's cache
interface and is one file more; `config/base/database.py` runs both statements.
"""

import io
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from tests.services.environment import service_environment
from tests.services.processes import ROOT

ROOMS = ("config", "keys", "forms_app", "submissions", "webhooks", "dashboard")
LEAVES = frozenset(
    {
        "config/base/client_address.py",  # request -> address
        "config/base/database.py",  # UUID <-> the driver's form
        "config/base/ids.py",  # UUID <-> text
        "config/base/text.py",  # text -> storable text
        "config/base/times.py",  # time -> text
        "forms_app/formats.py",  # text -> whether it is an email address
        "forms_app/origins.py",  # address -> origin
        "forms_app/spam_protection.py",  # stored JSON -> settings
        "keys/models/owners.py",  # plan -> limit
        "keys/tokens.py",  # key -> digest
        "submissions/json_text.py",  # value -> JSON
        "submissions/search_text.py",  # values -> text
    }
)


@dataclass(frozen=True)
class Bound:
    """The most files of ours (leaves apart), and how often one of them may be returned to."""

    files: int
    returns: int


@dataclass
class Trace:
    """`entered`: (file, function, depth) in order. `stays`: the file at work, one entry for each change of it."""

    entered: list[tuple[str, str, int]] = field(default_factory=list)
    stays: list[str] = field(default_factory=list)

    @property
    def files(self) -> list[str]:
        """Return every file with a frame, in the order first entered."""
        return list(dict.fromkeys(name for name, _, _ in self.entered))

    @property
    def working(self) -> list[str]:
        """Return the files that are not leaves."""
        return [name for name in self.files if name not in LEAVES]

    def entries(self, name: str) -> int:
        return sum(entered == name for entered, _, _ in self.entered)

    def problems(self, bound: Bound) -> list[str]:
        returns = {name: self.entries(name) - 1 for name in self.working}
        found = [f"{name}: returned to {n} times" for name, n in returns.items() if n > bound.returns]
        return found + ([f"{len(self.working)} files"] if len(self.working) > bound.files else [])


class Tracer:
    """A profile function that fills a Trace until it is stopped."""

    def __init__(self) -> None:
        self.trace = Trace()
        self.is_done = False

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        if self.is_done or event not in ("call", "return"):
            return
        here = ours(frame)
        if here is None:
            return
        callers = [name for name in map(ours, frames_above(frame)) if name]
        caller = callers[0] if callers else None
        if event == "call" and caller != here:
            depth = len(dict.fromkeys(callers))
            self.trace.entered.append((here, frame.f_code.co_qualname, depth))
        self._stay(here if event == "call" else caller)

    def _stay(self, name: str | None) -> None:
        if name and self.trace.stays[-1:] != [name]:
            self.trace.stays.append(name)


def frames_above(frame: FrameType) -> Iterator[FrameType]:
    caller = frame.f_back
    while caller:
        yield caller
        caller = caller.f_back


def ours(frame: FrameType) -> str | None:
    """Return the file of a frame, relative to the repository; None for other code, and for the tests."""
    path = frame.f_code.co_filename
    name = path.removeprefix(f"{ROOT}/")
    return name if name != path and name.startswith(ROOMS) else None


@contextmanager
def service() -> Iterator[Callable[[dict[str, str]], Trace]]:
    """Set up Django over a new database. Yield a function that posts with these headers and returns the trace."""
    with tempfile.TemporaryDirectory(prefix="fieldpost-trace-", ignore_cleanup_errors=True) as name:
        environment = service_environment(data_dir=Path(name))
        os.environ.clear()
        os.environ.update(environment, DJANGO_SETTINGS_MODULE="config.settings")

        import django
        from django.apps import apps
        from django.conf import settings
        from django.core.management import call_command

        django.setup()
        # The tables of the models: every migration in its order takes four seconds more, and the way is the same.
        settings.MIGRATION_MODULES = {app.label: None for app in apps.get_app_configs()}
        call_command("migrate", run_syncdb=True, verbosity=0)
        from submissions.receiving.wsgi import SubmitApplication

        application = SubmitApplication()
        yield lambda headers: post(application, headers)


def post(application: Any, headers: dict[str, str]) -> Trace:
    from django.db import connection

    from tests.load.request import BODY

    tracer, statuses = Tracer(), list[str]()

    def stop_at_the_row(execute: Any, sql: str, *arguments: Any) -> Any:
        result = execute(sql, *arguments)
        tracer.is_done = tracer.is_done or sql.startswith("INSERT INTO submissions_submission")
        return result

    environ = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": "/api/submit",
        "SERVER_NAME": "127.0.0.1",
        "HTTP_HOST": f"127.0.0.1:{os.environ['PORT']}",
        "SERVER_PORT": os.environ["PORT"],
        "REMOTE_ADDR": "127.0.0.1",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(BODY)),
        "wsgi.input": io.BytesIO(BODY),
        "wsgi.errors": sys.stderr,
        "wsgi.url_scheme": "http",
        **headers,
    }
    with connection.execute_wrapper(stop_at_the_row):
        sys.setprofile(tracer)
        try:
            body = application(environ, lambda status, _headers: statuses.append(status))
        finally:
            sys.setprofile(None)
    assert statuses == ["201 Created"], body
    assert tracer.is_done
    return tracer.trace


BOUNDS = {"from a server": Bound(files=11, returns=1), "from a page": Bound(files=12, returns=1)}


def report(title: str, trace: Trace, bound: Bound) -> str:
    """Return the walk, one line a call into a file, indented by how deep it is; then the figures."""
    lines = [f"POST /api/submit {title}:"]
    for number, (name, function, depth) in enumerate(trace.entered, start=1):
        mark = "  (leaf)" if name in LEAVES else ""
        lines.append(f"  {number:3} {'. ' * depth}{name}: {function}{mark}")
    leaves = [name for name in trace.files if name in LEAVES]
    returned = {name: trace.entries(name) - 1 for name in trace.working if trace.entries(name) > 1}
    stays = Counter(trace.stays)
    lines += [
        f"  files entered: {len(trace.working)} (at most {bound.files}), and {len(leaves)} leaves; "
        f"every file with a frame: {len(trace.files)}",
        f"  returned to: {returned or 'none'} (at most {bound.returns} each)",
        f"  changes of file, returns from calls and leaves included: {len(trace.stays)}; "
        f"most often at work: {', '.join(f'{name} {count}' for name, count in stays.most_common(3))}",
    ]
    return "\n".join(lines)


def main() -> int:
    problems = []
    with service() as submit:
        from tests.load.arrangement import arrange

        arranged = arrange()
        path = {"QUERY_STRING": f"formId={arranged.form_id}"}
        kinds = {
            "from a server": {**path, "HTTP_X_ACCESS_KEY": arranged.key},
            "from a page": {**path, "HTTP_X_ACCESS_KEY": arranged.publishable, "HTTP_ORIGIN": "https://example.com"},
        }
        for title, headers in kinds.items():
            submit(headers)  # what only the first request does
            trace = submit(headers)
            print(report(title, trace, BOUNDS[title]))
            problems += [f"{title}: {problem}" for problem in trace.problems(BOUNDS[title])]
    for problem in problems:
        print(f"OVER THE BOUND {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
