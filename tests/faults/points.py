"""
Named points: functions of the service that tests wrap in the started processes, and constants that they replace.

`environment(point(...), ...)` goes into the environment of a service; injected/sitecustomize.py applies it there. A
point does nothing until its file exists (`Point.arm`), and the process that removes the file runs it: once for each.
"""

import functools
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.services.processes import ROOT

VARIABLE = "FIELDPOST_FAULT_POINTS"
INJECTED = ROOT / "tests" / "faults" / "injected"


@dataclass(frozen=True)
class Point:
    """A function `name` (dotted), and what happens there: see `_ACTIONS`. With `file`, only while it is armed."""

    name: str
    do: str
    options: Mapping[str, Any]
    file: Path | None = None

    def arm(self) -> None:
        assert self.file is not None
        self.file.touch()

    @property
    def has_run(self) -> bool:
        return self.file is not None and not self.file.exists()


def point(name: str, do: str, file: Path | None = None, **options: Any) -> Point:
    return Point(name, do, options, file)


def exists(name: str) -> bool:
    """Return whether the code has this function: the name of its module, then its own."""
    try:
        return _module_of(name) is not None
    except LookupError:
        return False


def _module_of(name: str) -> str:
    """Return the module of a dotted name, without importing it. Raises LookupError."""
    parts = name.split(".")
    if parts[0] in sys.stdlib_module_names:
        return parts[0]
    for size in range(len(parts) - 1, 0, -1):
        path = ROOT.joinpath(*parts[:size])
        source = path.with_suffix(".py") if path.with_suffix(".py").exists() else path / "__init__.py"
        if source.exists():
            if any(part not in source.read_text() for part in parts[size:]):
                raise LookupError(f"{'.'.join(parts[:size])} has no {parts[size]}")
            return ".".join(parts[:size])
    raise LookupError(f"there is no module of {name}")


def environment(*points: Point) -> dict[str, str]:
    """Return the variables that apply these points in every Python process started with them."""
    described = {}
    for one in points:
        described[one.name] = {
            "module": _module_of(one.name),
            "do": one.do,
            "file": str(one.file) if one.file else "",
            **one.options,
        }
    return {VARIABLE: json.dumps(described), "PYTHONPATH": os.pathsep.join([str(INJECTED), str(ROOT)])}


# What follows runs in the service's processes.


def change(module: ModuleType, name: str, options: Mapping[str, Any]) -> None:
    """Replace `name`, which may be a method, in a module that was just loaded."""
    *owners, last = name.split(".")
    owner = functools.reduce(getattr, owners, module)
    if options["do"] == "set":
        setattr(owner, last, options["value"])
    elif options["do"] == "set seconds":
        setattr(owner, last, timedelta(seconds=options["value"]))
    else:
        setattr(owner, last, _ACTIONS[options["do"]](getattr(owner, last), options))


def _is_armed(options: Mapping[str, Any]) -> bool:
    """Return whether this call is the one: the file was there, and we removed it."""
    if not options["file"]:
        return True
    try:
        Path(options["file"]).unlink()
    except FileNotFoundError:
        return False
    return True


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
    signal.pause()  # until then


def _exit_before(function: Callable[..., Any], options: Mapping[str, Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if _is_armed(options):
            _die()
        return function(*args, **kwargs)

    return wrapped


def _exit_after(function: Callable[..., Any], options: Mapping[str, Any]) -> Callable[..., Any]:
    """Die when it has returned something true: a claim of nothing is none. With `of_none`, whatever it returned."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if (result or options.get("of_none")) and _is_armed(options):
            _die()
        return result

    return wrapped


def _on_marked(function: Callable[..., Any], options: Mapping[str, Any]) -> Callable[..., Any]:
    """Raise, or die with `kills`, at each call whose arguments have the text `marker`."""
    marker = str(options["marker"])

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if any(marker in _text(argument) for argument in (*args, *kwargs.values())):
            if options.get("kills"):
                _die()
            raise ValueError(f"{marker}: a poison row of a test")
        return function(*args, **kwargs)

    return wrapped


def _text(argument: object) -> str:
    """Return the text of bytes, of a delivery's message, and of what has one."""
    if isinstance(argument, bytes):
        return argument.decode(errors="replace")
    message = getattr(argument, "message", None)
    submission = getattr(argument, "submission", None)
    # Only what is loaded: a read would open a connection in each thread of a deliverer, and nobody closes it.
    data = vars(submission).get("data", "") if submission else ""
    return f"{argument!r} {getattr(message, 'body', '')} {data}"


def _mark_first(function: Callable[..., Any], options: Mapping[str, Any]) -> Callable[..., Any]:
    """
    Commit the mark of the rows without their deliveries, and die: a dispatch that is not one transaction.

    The guard of F2 shows with it that the checker sees a loss.
    """

    @functools.wraps(function)
    def wrapped(rows: Any) -> Any:
        if _is_armed(options):
            from django.db import connection

            from submissions.models import Submission

            marked = Submission.objects.filter(pk__in=[row.pk for row in rows])
            marked.update(dispatched_at=rows[0].created_at, counted_as=Submission.CountedAs.KEPT)
            connection.cursor().execute("COMMIT")
            _die()
        return function(rows)

    return wrapped


def _resolve(function: Callable[..., Any], options: Mapping[str, Any]) -> Callable[..., Any]:
    """Answer for some names as their DNS servers would: `names` has the answers, one for each look-up, in turn."""
    names: dict[str, list[list[str]]] = options["names"]
    looked_up: Counter[str] = Counter()

    @functools.wraps(function)
    def wrapped(host: Any, *args: Any, **kwargs: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        if name not in names:
            return function(host, *args, **kwargs)
        with Path(options["seen"]).open("a") as seen:
            seen.write(f"{name}\n")
        answers = names[name]
        looked_up[name] += 1
        found = answers[(looked_up[name] - 1) % len(answers)]
        return [one for address in found for one in function(address, *args, **kwargs)]

    return wrapped


def _scale(function: Callable[..., Any], options: Mapping[str, Any]) -> Callable[..., Any]:
    """Multiply the time that it returns."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        result: timedelta | None = function(*args, **kwargs)
        return None if result is None else result * options["factor"]

    return wrapped


_ACTIONS: dict[str, Callable[[Callable[..., Any], Mapping[str, Any]], Callable[..., Any]]] = {
    "exit before": _exit_before,
    "exit after": _exit_after,
    "on marked": _on_marked,
    "scale": _scale,
    "mark first": _mark_first,
    "resolve": _resolve,
}
