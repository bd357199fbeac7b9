"""Celery's pool of child processes, for a worker whose children may die while it waits for Redis."""

from celery.concurrency.prefork import TaskPool


class LastingPool(TaskPool):
    """
    Replaces a child that died before the worker had connected.

    Celery ends the whole worker then ("Could not start worker processes"): until its first connection nothing looks
    after the children. Redis may be down for hours meanwhile, and a child be killed for its memory.
    """

    def did_start_ok(self) -> bool:
        """Start a process for each that is gone. Always True: children that keep dying are replaced, and logged."""
        self._pool.maintain_pool()  # type: ignore[attr-defined]  # set when it starts
        return True
