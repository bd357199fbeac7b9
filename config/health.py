"""
Health checks. `/healthz`: the process responds. `/readyz`: it can store submissions.

`/readyz` also names the problems of other roles, which a load balancer cannot help: they leave it at 200.
"""

import logging
import math
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from django.conf import settings
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.http import HttpRequest, JsonResponse
from django.utils import translation
from django.utils.translation import gettext_lazy

from config.base.nudge import is_redis_reachable
from config.outage import why_not_storing
from config.secrets.rotation import are_unreadable

CHECK_SECONDS = 5.0  # between two writes, and two searches for problems, of a process
WAIT_SECONDS = 1.0  # for such a search: a service that hangs must not keep a load balancer waiting
NO_REDIS = gettext_lazy("Redis is unreachable: workers get no hints, and each process counts limits by itself.")
WRONG_KEYS = gettext_lazy(
    "No stored secret can be read: ENCRYPTION_KEYS and SECRET_KEY are not those that encrypted them. Set these, and "
    "run `manage.py reencrypt_secrets`."
)

logger = logging.getLogger(__name__)
_seen_complete = False  # once every migration is applied, a probe is one SELECT


class Problem(NamedTuple):
    """A cause to act on. `message`: a translated text, without values of customers: /readyz is public."""

    code: str
    message: Any


Finder = Callable[[], Iterable[Problem]]


def healthz(_request: HttpRequest) -> JsonResponse:
    """Return 200 while the process is running."""
    return JsonResponse({"status": "ok"})


def readyz(_request: HttpRequest) -> JsonResponse:
    """
    Return 200 if the database has every migration, stores, and has secrets that our keys read, else 503.

    An unavailable database is FieldpostMiddleware's.
    """
    missing = missing_migrations()
    if missing:
        plural = "migrations are" if missing > 1 else "migration is"
        return _not_ready("migrations_missing", f"{missing} {plural} not applied. Run `manage.py migrate`.")
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    with translation.override("en"):
        if reason := STORING.reason():
            return _not_ready("cannot_store", str(reason))
        if reason := KEYS.reason():
            return _not_ready("wrong_keys", str(reason))
        found = [{"code": problem.code, "message": str(problem.message)} for problem in PROBLEMS.now()]
    return JsonResponse({"status": "ready", "problems": found})


def _not_ready(status: str, message: str) -> JsonResponse:
    answer = JsonResponse({"status": status, "message": message}, status=503, headers={"Retry-After": 2})
    answer._has_been_logged = True  # type: ignore[attr-defined]  # read by Django: no line for each probe
    return answer


def missing_migrations() -> int:
    """Return how many migrations this code has and the database has not. Asks only until there are none."""
    global _seen_complete
    if _seen_complete:
        return 0
    loader = MigrationLoader(connection)
    missing = set(loader.disk_migrations) - set(loader.applied_migrations)
    _seen_complete = not missing
    return len(missing)


class Checked:
    """The result of a check of this process, which runs at most each CHECK_SECONDS; `once`: until it finds nothing."""

    def __init__(self, check: Callable[[], Any], *, once: bool = False) -> None:
        self._check, self._once = check, once
        self._reason: Any = ""
        self._next = 0.0

    def reason(self) -> Any:
        """Return what it finds, "" for nothing. Raises Error if the database does not answer."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + CHECK_SECONDS  # first: other threads need not wait for it
            try:
                self._reason = self._check()
            except BaseException:
                self._next = 0.0
                raise
            if self._once and not self._reason:
                self._next = math.inf
        return self._reason


def wrong_keys() -> Any:
    """Return that the stored secrets cannot be read, or an empty string."""
    return WRONG_KEYS if are_unreadable() else ""


class Problems:
    """The problems that the registered finders see, searched in a thread at most each CHECK_SECONDS."""

    def __init__(self) -> None:
        self._finders: list[Finder] = []
        self._found: dict[Finder, list[Problem]] = {}
        self._lock = threading.Lock()
        self._search = threading.Thread()
        self._next = 0.0

    def register(self, *finders: Finder) -> None:
        """Add finders; slow ones last."""
        self._finders.extend(finder for finder in finders if finder not in self._finders)

    def now(self) -> list[Problem]:
        """Return the problems; those of a finder that takes longer than WAIT_SECONDS as they were before."""
        with self._lock:
            if not self._search.is_alive() and time.monotonic() >= self._next:
                self._next = time.monotonic() + CHECK_SECONDS
                self._search = threading.Thread(target=self._find, name="problems", daemon=True)
                self._search.start()
        self._search.join(WAIT_SECONDS)
        return [problem for finder in self._finders for problem in self._found.get(finder, ())]

    def _find(self) -> None:
        try:
            for finder in self._finders:
                try:
                    self._found[finder] = list(finder())
                except Exception:
                    logger.exception("searching for problems failed")
        finally:
            connection.close()


def problems_of_services() -> list[Problem]:
    """Return the problem of Redis, if it is used and does not answer."""
    return [Problem("redis", NO_REDIS)] if settings.REDIS_URL and not is_redis_reachable() else []


STORING = Checked(why_not_storing)
KEYS = Checked(wrong_keys, once=True)  # keys change with a restart
PROBLEMS = Problems()
PROBLEMS.register(problems_of_services)
