"""Findings that `lint-imports` (pyproject.toml) cannot make: strings, late imports, sizes, circles of files."""

import ast
from collections import Counter
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest

from tests.services.processes import ROOT

ROOMS = ("config", "keys", "forms_app", "submissions", "webhooks", "dashboard")
RELATIONS = {"ForeignKey", "OneToOneField", "ManyToManyField"}
BY_NAME = {"import_module", "import_string", "get_model", "get_app_config"}  # reach a module or model by a string
MOST_MODULES, MOST_IN_ROOMS = 20, 16  # of a folder without `__init__.py`; of one in submissions/ or webhooks/
VAGUE = {"core", "common", "utils", "helpers"}


def violations(source: str, module: str) -> list[str]:
    """Return the names of other apps that a module reaches late, in a string against the arrow, or in a relation."""
    here, is_migration = ROOMS.index(module.partition(".")[0]), ".migrations." in module
    found = []
    for node, late in _nodes(ast.parse(source), late=False):
        relates = isinstance(node, ast.Call) and _called(node) in RELATIONS and not is_migration
        found += [name for name in _names_in(node, is_migration) if _rank(name) > here or (relates and "." in name)]
        if late and isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            found += [name for name in names if _rank(name) not in (-1, here)]
    return found


def _rank(name: str) -> int:
    first = name.partition(".")[0]
    return ROOMS.index(first) if first in ROOMS else -1


def _nodes(node: ast.AST, *, late: bool) -> Iterator[tuple[ast.AST, bool]]:
    """Yield every node, and whether it is in a function; `AppConfig.ready` has to import late."""
    for child in ast.iter_child_nodes(node):
        yield child, late
        is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) and child.name != "ready"
        yield from _nodes(child, late=late or is_function)


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _names_in(node: ast.AST, is_migration: bool) -> list[str]:
    """Return the strings that name an app, a module or a model: in a call, or a migration's dependencies."""
    if isinstance(node, ast.Call) and _called(node) in BY_NAME | RELATIONS:
        places = [*node.args[:1], *(word.value for word in node.keywords if word.arg in ("to", "through"))]
    elif is_migration and isinstance(node, ast.Tuple):
        places = node.elts[:1]
    else:
        places = []
    return [place.value for place in places if isinstance(place, ast.Constant) and isinstance(place.value, str)]


def too_large(paths: list[Path]) -> list[str]:
    sizes = Counter(
        path.relative_to(ROOT).parent
        for path in paths
        if path.name != "__init__.py" and path.parent.name != "migrations"
    )
    most = {folder: MOST_IN_ROOMS if folder.parts[0] in ROOMS[3:5] else MOST_MODULES for folder in sizes}
    return [f"{folder}: {size} modules" for folder, size in sizes.items() if size > most[folder]]


def modules() -> list[Path]:
    return sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))


def test_modules__reach_no_app_late_or_by_a_string_against_the_arrow() -> None:
    names = {path: ".".join(path.relative_to(ROOT).with_suffix("").parts) for path in modules()}
    assert {name.partition(".")[0] for name in names.values()} == set(ROOMS)
    assert {name: found for path, name in names.items() if (found := violations(path.read_text(), name))} == {}


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("config.base.nudge", "def nudge():\n    from webhooks.tasks import deliver_due"),
        ("webhooks.tasks", "def run():\n    import submissions.models"),
        ("submissions.views", "import_module('webhooks.tasks')"),
        ("submissions.views", "Webhook = apps.get_model('webhooks', 'Webhook')"),
        ("webhooks.models", "form = models.ForeignKey('forms_app.Form', on_delete=models.CASCADE)"),
        ("webhooks.models", "forms = ManyToManyField(to='forms_app.Form')"),
        ("keys.migrations.0001_first", "class Migration:\n    dependencies = [('forms_app', '0001_first')]"),
        ("keys.migrations.0001_first", "models.ForeignKey(to='forms_app.form', on_delete=models.CASCADE)"),
    ],
)
def test_source__against_the_arrow__is_found(module: str, source: str) -> None:
    assert violations(source, module)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("webhooks.models", "form = models.ForeignKey(Form, on_delete=models.CASCADE)"),
        ("keys.models", "parent = models.ForeignKey('self', null=True, on_delete=models.CASCADE)"),
        ("forms_app.apps", "class C:\n    def ready(self):\n        from keys import plans"),
        ("keys.models", "def key():\n    from keys import tokens\n    from django.conf import settings"),
        ("webhooks.migrations.0001_first", "class Migration:\n    dependencies = [('forms_app', '0001_first')]"),
        ("webhooks.migrations.0001_first", "models.ForeignKey(to='forms_app.form', on_delete=models.CASCADE)"),
    ],
)
def test_source__along_the_arrow__passes(module: str, source: str) -> None:
    assert violations(source, module) == []


def test_files__of_all_apps__are_in_no_circle() -> None:
    graph = grimp.build_graph(*ROOMS, cache_dir=None)
    TopologicalSorter({name: graph.find_modules_directly_imported_by(name) for name in graph.modules}).prepare()


def test_folders__tests_included__hold_few_modules_with_names_of_their_content() -> None:
    paths = [*modules(), *(ROOT / "tests").rglob("*.py")]
    assert too_large(paths) == []
    assert [path for path in paths if VAGUE & {path.stem, *path.relative_to(ROOT).parts}] == []


@pytest.mark.parametrize(("folder", "most"), [("keys", 20), ("tests/api/submit", 20), ("submissions/receiving", 16)])
def test_folder__with_one_module_too_many__is_found(folder: str, most: int) -> None:
    paths = [ROOT / folder / f"m{number}.py" for number in range(most)]

    assert too_large([*paths, ROOT / folder / "__init__.py"]) == []
    assert too_large([*paths, ROOT / folder / "one_more.py"]) == [f"{folder}: {most + 1} modules"]
