"""
The direction of imports: a package imports only packages to its left.

    config (but its entrances) <- keys <- forms_app <- submissions <- webhooks <- dashboard <- config.urls, wsgi, asgi

Inside `submissions/` and `webhooks/` the folders have a direction too (`MAY_IMPORT`), no file is part of a
circle, and no folder is too large. The source is read, not run, migrations and imports under TYPE_CHECKING included.
"""

import ast
import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ["config", "keys", "forms_app", "submissions", "webhooks", "dashboard"]
LAST = "config.urls"  # the root of all paths: may import every room
ENTRANCES = (LAST, "config.wsgi", "config.asgi")  # of the web, and of the live stream
RELATIONS = {"ForeignKey", "OneToOneField", "ManyToManyField"}
BY_NAME = {"import_module", "import_string", "get_model", "get_app_config"}  # reach a module or model by a string

SUBMISSION_GROUND = {
    *("json_text", "search_text", "models", "confirmations", "positions", "serializers", "storage", "tally", "usage"),
}
WEBHOOK_GROUND = {"signing", "payloads", "events", "models", "enqueue"}
# Of each folder, the folders and modules of its package that it may import. Other modules of the package (views, use
# cases, commands, urls) may import everything, and no folder imports them.
MAY_IMPORT: dict[str, dict[str, set[str]]] = {
    "submissions": {
        **dict.fromkeys(SUBMISSION_GROUND, SUBMISSION_GROUND),
        "serializers": SUBMISSION_GROUND | {"files"},
        "files": SUBMISSION_GROUND,
        "refusals": SUBMISSION_GROUND,
        "parsing": SUBMISSION_GROUND | {"files"},
        "receiving": SUBMISSION_GROUND | {"refusals", "files"},
        "hosted": SUBMISSION_GROUND | {"receiving", "files", "lifecycle", "parsing"},
        "reading": SUBMISSION_GROUND | {"files"},
        "exporting": SUBMISSION_GROUND | {"reading", "files"},
        "scanning": SUBMISSION_GROUND | {"files"},
        "live": SUBMISSION_GROUND,
        "lifecycle": SUBMISSION_GROUND | {"files"},
        "partitions": SUBMISSION_GROUND | {"lifecycle"},
        "transfers": SUBMISSION_GROUND | {"receiving", "hosted", "files", "refusals"},
    },
    "webhooks": {
        **dict.fromkeys(WEBHOOK_GROUND, WEBHOOK_GROUND),
        "channels": WEBHOOK_GROUND,
        "outbox": WEBHOOK_GROUND | {"channels", "mails", "processes"},
        "processes": WEBHOOK_GROUND,
        "mails": WEBHOOK_GROUND,
    },
}
MOST_MODULES = 20  # of a folder, `__init__.py` left out
MOST_IN_ROOMS = 16  # of a folder of submissions/ or webhooks/


def room_of(name: str) -> str | None:
    """The room of a module, of `app.Model` or of an app's label; None for what is not ours."""
    if any(name == entrance or name.startswith(f"{entrance}.") for entrance in ENTRANCES):
        return LAST
    first = name.partition(".")[0]
    return first if first in ROOMS else None


def rank(room: str) -> int:
    return len(ROOMS) if room == LAST else ROOMS.index(room)


@dataclasses.dataclass(frozen=True)
class Read:
    """The findings in a source text: what `references` yields, and what `string_keys` yields."""

    references: list[tuple[int, str, bool]]
    string_keys: list[tuple[int, str]]


@cache
def read_source(source: str, module: str) -> Read:
    """Parse a source text once for all tests. Keep the findings only: the trees of all files take 70 MB."""
    tree = ast.parse(source)
    return Read(list(references(tree, module)), list(string_keys(tree)))


def violations(source: str, module: str) -> list[str]:
    """The violations of the rules in the source text of `module` (its dotted name), a line each."""
    read = read_source(source, module)
    here = room_of(module)
    assert here is not None
    found = []
    inner = [(line, name) for line, name, _ in read.references if not is_inner_import_fine(module, name)]
    for line, name, nested in read.references:
        room = room_of(name)
        if name.startswith("django.db.models.signals"):
            found.append(f"{module}:{line} uses lifecycle signals")
        if room is None or room == here:
            continue
        if rank(room) > rank(here):
            found.append(f"{module}:{line} reaches {name}: {here} must not know {room}")
        if nested:
            found.append(f"{module}:{line} imports {name} inside a function")
    found += [f"{module}:{line} reaches {name}: against the direction inside its package" for line, name in inner]
    if ".migrations." not in module:  # Django writes its migrations with strings
        found += [f"{module}:{line} names {name} as a string: import the class" for line, name in read.string_keys]
    return found


def is_inner_import_fine(module: str, name: str) -> bool:
    """Whether a module may reach a name, as far as both lie in one package of `MAY_IMPORT`."""
    package, _, here = module.partition(".")
    other_package, _, there = name.partition(".")
    here, there = here.partition(".")[0], there.partition(".")[0]
    rules = MAY_IMPORT.get(package, {})
    if package != other_package or here not in rules or here == there:
        return True
    return there in rules[here]


def circle(imports: Mapping[str, set[str]]) -> list[str]:
    """A circle of modules, the first one named again at its end; empty when there is none."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def imports_of(sources: Mapping[str, str]) -> dict[str, set[str]]:
    """Of each module, by its dotted name, the modules among `sources` that its text reaches."""
    found: dict[str, set[str]] = {}
    for module, source in sources.items():
        names = {name for _, name, _ in read_source(source, module).references}
        found[module] = {target for name in names if (target := target_of(name, sources))} - {module}
    return found


def target_of(name: str, sources: Mapping[str, str]) -> str | None:
    """The module that a dotted name reaches: itself, its package's `__init__`, or the module that defines it."""
    parent = name.rpartition(".")[0]
    return next((each for each in (name, f"{name}.__init__", parent, f"{parent}.__init__") if each in sources), None)


def references(tree: ast.Module, module: str) -> Iterator[tuple[int, str, bool]]:
    """(line, dotted name, is it an import inside a function) of everything that reaches another module."""
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        node, nested = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not is_ready(node, module):
            nested = True
        waiting += ((child, nested) for child in ast.iter_child_nodes(node))
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


def too_large(paths: list[Path]) -> list[str]:
    """The folders with too many modules, a line each. Migrations are not counted: there is one for each change."""
    sizes = Counter(
        path.relative_to(ROOT).parent.as_posix()
        for path in paths
        if path.name != "__init__.py" and path.parent.name != "migrations"
    )
    return [f"{folder}: {size} modules" for folder, size in sorted(sizes.items()) if size > most_in(folder)]


def most_in(folder: str) -> int:
    return MOST_IN_ROOMS if folder.partition("/")[0] in MAY_IMPORT else MOST_MODULES


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


def test_rules__name_only_what_is_there() -> None:
    for package, rules in MAY_IMPORT.items():
        here = {path.stem for path in (ROOT / package).iterdir() if path.suffix == ".py" or path.is_dir()}
        assert (set(rules) | set().union(*rules.values())) - here == set()


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("submissions.receiving.gates", "from submissions.hosted import pages"),
        ("submissions.receiving.gates", "from ..hosted.pages import thanks"),
        ("submissions.receiving.gates", "from submissions.views import SubmissionViewSet"),
        ("submissions.reading.listing", "from submissions.exporting.stream import EXPORTS"),
        ("submissions.live.hub", "from submissions.reading.listing import Scope"),
        ("submissions.refusals.recorder", "from submissions.receiving.gates import GATES"),
        ("submissions.models", "if TYPE_CHECKING:\n    from submissions.reading.listing import Scope"),
        ("webhooks.channels.http", "from webhooks.outbox.record import record"),
        ("webhooks.outbox.dispatch", "from webhooks.views import WebhookViewSet"),
        ("webhooks.models", "from webhooks.channels.registry import CHANNELS"),
    ],
)
def test_source__against_the_direction_inside_a_package__is_found(module: str, source: str) -> None:
    assert violations(source, module)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("submissions.receiving.gates", "from submissions.receiving import captchas\nfrom submissions import models"),
        ("submissions.receiving.gates", "from submissions.refusals.recorder import note_refusal"),
        ("submissions.hosted.views", "from submissions.receiving.gates import Door"),
        ("submissions.exporting.stream", "from submissions.reading.listing import Scope"),
        ("submissions.views", "from submissions.exporting.stream import EXPORTS\nfrom submissions.hosted import pages"),
        ("webhooks.outbox.send", "from webhooks.channels import http"),
        ("webhooks.tasks", "from webhooks.outbox.loop import deliver_due"),
    ],
)
def test_source__along_the_direction_inside_a_package__passes(module: str, source: str) -> None:
    assert violations(source, module) == []


def test_modules__of_all_packages__are_in_no_circle() -> None:
    assert circle(imports_of({module_name(path): path.read_text() for path in modules()})) == []


@pytest.mark.parametrize(
    "sources",
    [
        {"keys.a": "from keys.b import x", "keys.b": "from keys.a import y"},
        {"keys.a": "from keys import b", "keys.b": "if TYPE_CHECKING:\n    from keys.a import y"},
        {"keys.a": "import keys.b", "keys.b": "def late():\n    from .c import x", "keys.c": "from . import a"},
        {"keys.__init__": "from keys.a import x", "keys.a": "from keys import y"},
    ],
)
def test_circle__of_files__is_found(sources: dict[str, str]) -> None:
    assert circle(imports_of(sources))


def test_files__that_only_share_what_they_import__are_no_circle() -> None:
    sources = {"keys.a": "from keys.c import x", "keys.b": "from keys import a, c", "keys.c": "import datetime"}
    assert imports_of(sources) == {"keys.a": {"keys.c"}, "keys.b": {"keys.a", "keys.c"}, "keys.c": set()}
    assert circle(imports_of(sources)) == []


def test_folders__tests_included__hold_few_modules() -> None:
    assert too_large([*modules(), *(ROOT / "tests").rglob("*.py")]) == []


@pytest.mark.parametrize(("folder", "most"), [("keys", 20), ("tests/api/submit", 20), ("submissions/receiving", 16)])
def test_folder__with_one_module_too_many__is_found(folder: str, most: int) -> None:
    paths = [ROOT / folder / f"m{number}.py" for number in range(most)]

    assert too_large([*paths, ROOT / folder / "__init__.py"]) == []
    assert too_large([*paths, ROOT / folder / "one_more.py"]) == [f"{folder}: {most + 1} modules"]
