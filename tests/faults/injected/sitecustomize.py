"""
Python imports this at the start of each process of a service whose PYTHONPATH leads here (tests/faults/points.py).

FIELDPOST_FAULT_POINTS maps dotted names of functions to `{"do": ..., ...}`. Each is wrapped as soon as its module is
loaded, before another module can import the function itself. No code of the service knows of it.
"""

import importlib.abc
import importlib.machinery
import json
import os
import sys
from collections import defaultdict
from collections.abc import Sequence
from types import ModuleType
from typing import Any

VARIABLE = "FIELDPOST_FAULT_POINTS"


class Finder(importlib.abc.MetaPathFinder):
    """Finds the modules of the points as Python does, and changes them once they are executed."""

    def __init__(self, points: dict[str, dict[str, Any]]) -> None:
        self._by_module: dict[str, list[tuple[str, dict[str, Any]]]] = defaultdict(list)
        for name, options in points.items():
            self._by_module[options["module"]].append((name.removeprefix(options["module"] + "."), options))

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in self._by_module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = Loader(spec.loader, self._by_module[name])
        return spec


class Loader(importlib.abc.Loader):
    def __init__(self, loader: Any, points: list[tuple[str, dict[str, Any]]]) -> None:
        self._loader, self._points = loader, points

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        created: ModuleType | None = self._loader.create_module(spec)
        return created

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        from tests.faults.points import change

        for name, options in self._points:
            change(module, name, options)


if points := os.environ.get(VARIABLE):
    sys.meta_path.insert(0, Finder(json.loads(points)))
