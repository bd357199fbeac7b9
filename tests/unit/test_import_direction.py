"""
The arrow of the architecture: a room knows only the rooms to its left, and nothing dodges that.

    config (but urls, asgi) <- keys <- forms_app <- submissions <- webhooks <- dashboard <- config.urls, config.asgi

The source is read, not run: what counts is what is written down, in migrations and under TYPE_CHECKING too.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ["config", "keys", "forms_app", "submissions", "webhooks", "dashboard"]
LAST = "config.urls"  # what a server is asked for: may know them all
ENTRANCES = (LAST, "config.asgi")  # of the web, and of the live stream
RELATIONS = {"ForeignKey", "OneToOneField", "ManyToManyField"}
BY_NAME = {"import_module", "import_string", "get_model", "get_app_config"}  # reach a module or model by a string


def room_of(name: str) -> str | None:
    """The room of a module, of `app.Model` or of an app's label; None for what is not ours."""
    if any(name == entrance or name.startswith(f"{entrance}.") for entrance in ENTRANCES):
        return LAST
    first = name.partition(".")[0]
    return first if first in ROOMS else None


def rank(room: str) -> int:
    return len(ROOMS) if room == LAST else ROOMS.index(room)


def violations(source: str, module: str) -> list[str]:
    """What the source text of `module` (its dotted name) does against the rules, a line each."""
    tree = ast.parse(source)
    here = room_of(module)
    assert here is not None
    found = []
    for line, name, nested in references(tree, module):
        room = room_of(name)
        if name.startswith("django.db.models.signals"):
            found.append(f"{module}:{line} uses lifecycle signals")
        if room is None or room == here:
            continue
        if rank(room) > rank(here):
            found.append(f"{module}:{line} reaches {name}: {here} must not know {room}")
        if nested:
            found.append(f"{module}:{line} imports {name} inside a function")
    if ".migrations." not in module:  # Django writes its migrations with strings
        found += [f"{module}:{line} names {name} as a string: import the class" for line, name in string_keys(tree)]
    return found


def references(tree: ast.Module, module: str) -> Iterator[tuple[int, str, bool]]:
    """(line, dotted name, is it an import inside a function) of everything that reaches another module."""
    in_functions = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and not is_ready(function, module)
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        nested = id(node) in in_functions
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name, nested) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = absolute(node, module)
            yield from ((node.lineno, f"{base}.{alias.name}", nested) for alias in node.names)
        elif isinstance(node, ast.Call):
            yield from ((node.lineno, name, False) for name in named_in_call(node))
        elif isinstance(node, ast.Assign) and ".migrations." in module and target_is(node, "dependencies"):
            yield from ((node.lineno, name, False) for name in first_strings(node.value))


def is_ready(function: ast.FunctionDef | ast.AsyncFunctionDef, module: str) -> bool:
    """`AppConfig.ready` has to import late, as Django reads apps.py before any model; it keeps the direction."""
    return function.name == "ready" and module.endswith(".apps")


def absolute(node: ast.ImportFrom, module: str) -> str:
    """`from ..keys import x` with its dots resolved. A package's own name counts as a module inside it."""
    if not node.level:
        return node.module or ""
    package = module.split(".")[: -node.level]
    return ".".join([*package, node.module] if node.module else package)


def named_in_call(node: ast.Call) -> Iterator[str]:
    function = called(node)
    if function in BY_NAME and node.args and isinstance(node.args[0], ast.Constant):
        yield str(node.args[0].value)
    if function in RELATIONS:
        yield from (name for _, name in related_strings(node))


def called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def related_strings(node: ast.Call) -> Iterator[tuple[int, str]]:
    """`"app.Model"` in the places where a relation names its target; `"self"` and `"Model"` stay in their app."""
    named = [word.value for word in node.keywords if word.arg in ("to", "through")]
    for value in [*node.args[:1], *named]:
        if isinstance(value, ast.Constant) and isinstance(value.value, str) and "." in value.value:
            yield value.lineno, value.value


def string_keys(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and called(node) in RELATIONS:
            yield from related_strings(node)


def target_is(node: ast.Assign, name: str) -> bool:
    return any(isinstance(target, ast.Name) and target.id == name for target in node.targets)


def first_strings(value: ast.AST) -> Iterator[str]:
    """The app labels in `[("keys", "0001_initial"), …]`."""
    for node in ast.walk(value):
        if isinstance(node, ast.Tuple) and node.elts and isinstance(node.elts[0], ast.Constant):
            yield str(node.elts[0].value)


def module_name(path: Path) -> str:
    """`keys/__init__.py` is `keys.__init__`, so that one leading dot means its own package as in every module."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def modules() -> list[Path]:
    return sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))


@pytest.mark.parametrize("path", modules(), ids=module_name)
def test_module__knows_only_rooms_to_its_left(path: Path) -> None:
    assert violations(path.read_text(), module_name(path)) == []


def test_modules__of_every_room__are_read() -> None:
    assert {module_name(path).partition(".")[0] for path in modules()} == set(ROOMS)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("keys.models", "from forms_app.models import Form"),
        ("keys.models", "import forms_app.models"),
        ("keys.models", "from ..forms_app import models"),
        ("keys.models", "from config import urls"),
        ("submissions.live.hub", "from config.asgi import hub"),
        ("keys.models", "if TYPE_CHECKING:\n    from webhooks.models import Webhook"),
        ("config.api.errors", "from keys.models import AccessKey"),
        ("config.celery", "import webhooks.tasks"),
        ("config.nudge", "def nudge():\n    from webhooks.tasks import deliver_due"),
        ("submissions.views", "import_module('webhooks.tasks')"),
        ("submissions.views", "Webhook = apps.get_model('webhooks', 'Webhook')"),
        ("webhooks.tasks", "def run():\n    from submissions.models import Submission"),
        ("webhooks.models", "form = models.ForeignKey('forms_app.Form', on_delete=models.CASCADE)"),
        ("webhooks.models", "forms = ManyToManyField(to='forms_app.Form')"),
        ("keys.apps", "class C:\n    def ready(self):\n        from forms_app import checks"),
        ("keys.models", "user = models.OneToOneField('keys.User', on_delete=models.CASCADE)"),
        ("keys.models", "from django.db.models.signals import post_save"),
        ("keys.models", "from django.db.models import signals"),
        ("keys.migrations.0001_first", "class Migration:\n    dependencies = [('forms_app', '0001_first')]"),
        ("keys.migrations.0001_first", "models.ForeignKey(to='forms_app.form', on_delete=models.CASCADE)"),
    ],
)
def test_source__against_the_arrow__is_found(module: str, source: str) -> None:
    assert violations(source, module)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("webhooks.models", "from keys.models import Organization\nfrom submissions.models import Submission"),
        ("webhooks.models", "form = models.ForeignKey(Form, on_delete=models.CASCADE)"),
        ("keys.models", "user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)"),
        ("keys.models", "parent = models.ForeignKey('self', null=True, on_delete=models.CASCADE)"),
        ("keys.models", "from config.api.errors import Conflict"),
        ("forms_app.apps", "class C:\n    def ready(self):\n        from keys import plans"),
        ("keys.models", "def key():\n    from keys import tokens"),
        ("keys.views", "def show():\n    from django.conf import settings"),
        ("config.urls", "from dashboard import views\nfrom keys import urls"),
        ("config.asgi", "from submissions.live.hub import Hub"),
        ("webhooks.migrations.0001_first", "class Migration:\n    dependencies = [('forms_app', '0001_first')]"),
        ("webhooks.migrations.0001_first", "models.ForeignKey(to='forms_app.form', on_delete=models.CASCADE)"),
    ],
)
def test_source__along_the_arrow__passes(module: str, source: str) -> None:
    assert violations(source, module) == []
