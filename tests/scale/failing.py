"""A process that dies at a statement, played in this one."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection


@contextmanager
def failing_at(part: str) -> Iterator[list[str]]:
    """Fail after a statement with this part, as a process that dies there; yield those that it was."""
    failed: list[str] = []

    def fail(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        result = execute(sql, params, many, context)
        if part in str(sql) and not failed:
            failed.append(str(sql))
            raise KeyboardInterrupt
        return result

    with connection.execute_wrapper(fail):
        yield failed
