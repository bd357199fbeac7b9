"""Forms as YAML files: `forms/<key>.yaml`, whose comments, order and quotes stay."""

import datetime as dt
import re
from collections.abc import Collection, Iterator, Mapping
from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError
from ruamel.yaml.scalarstring import LiteralScalarString

from fieldpost.cli.output import CommandError
from fieldpost.cli.seen import write_own
from fieldpost.transport import environment

KEY = re.compile(r"[a-z0-9-]{1,64}")
VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
NAMES = ("name", "email")  # by which the members of a list are known again
MOST_VALUES = 100_000  # many times what a form can have
WIDTH = 4096  # characters of a line: texts are not folded


def _yaml() -> YAML:
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = WIDTH
    yaml.indent(mapping=2, sequence=4, offset=2)
    return yaml


def files_of(folder: Path) -> dict[str, Path]:
    """Return the files of a folder by the keys of their forms."""
    found = {path.stem: path for path in sorted(folder.glob("*.yaml"))}
    wrong = [str(path) for key, path in found.items() if not KEY.fullmatch(key)]
    if wrong:
        raise CommandError("invalid_file", f"{wrong[0]}: a file is named by the key of its form, of a-z, 0-9 and -.")
    return found


def read(path: Path) -> CommentedMap:
    try:
        document = _yaml().load(path.read_text(encoding="utf-8"))
    except (YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise CommandError("invalid_file", f"{path} cannot be read as YAML: {_brief(error)}") from None
    if not isinstance(document, CommentedMap):
        raise CommandError("invalid_file", f"{path} is no document of a form: it has no members.")
    if document.get("key", path.stem) != path.stem:
        raise CommandError("invalid_file", f"{path}: the key in the file is another than that of its name.")
    return document


def write(path: Path, document: CommentedMap, schema: str) -> None:
    """Write a file; one that has no first line for editors gets it."""
    text = StringIO()
    _yaml().dump(document, text)
    line = f"# yaml-language-server: $schema={schema}\n"
    content = text.getvalue()
    content = re.sub(r"\A# yaml-language-server:[^\n]*\n", line, content)
    write_own(path, content if content.startswith(line) else line + content)


def body_of(path: Path, document: CommentedMap, *, with_secret: bool = True) -> dict[str, Any]:
    """Return the body of a PUT. With its secret, `spam.secret` is the value of the variable that the file names."""
    try:
        body: dict[str, Any] = _plain(path, document, iter(range(MOST_VALUES)))
    except RecursionError:  # an alias of what it is in
        raise CommandError("invalid_file", f"{path} is nested too deep.") from None
    spam = body.get("spam")
    if not isinstance(spam, dict) or spam.get("secret") is None:
        return body
    name = VARIABLE.fullmatch(spam["secret"]) if isinstance(spam["secret"], str) else None
    if name is None:
        raise CommandError("invalid_file", f"{path}: spam.secret names a variable, ${{NAME}}, and holds no secret.")
    if not with_secret:
        del spam["secret"]
    elif (value := environment(name[1])) is not None:
        spam["secret"] = value
    else:
        raise CommandError("missing_secret", f"{path} needs the variable {name[1]}, which is not set.")
    return body


def new_file(document: Mapping[str, Any]) -> CommentedMap:
    """Return the document of a form as it is first written: without a secret, which stays as it is."""
    made: CommentedMap = _made(_without_hints(document))
    return made


def update(file: CommentedMap, document: Mapping[str, Any], changed: Collection[str]) -> None:
    """Give a file the `changed` members of a document; what a secret is called there stays."""
    document = _without_hints(document, _secret_of(file))
    for name in changed:
        if name in document:
            file[name] = _merged(file[name], document[name]) if name in file else _made(document[name])
        else:
            file.pop(name, None)


def _without_hints(document: Mapping[str, Any], variable: str | None = None) -> dict[str, Any]:
    """Return a document without the hint of its secret, and without states of recipients."""
    found = dict(document)
    spam = dict(found["spam"])
    has_secret = spam.pop("secret", None) is not None
    found["spam"] = {**spam, "secret": variable} if has_secret and variable else spam
    if "recipients" in found:
        found["recipients"] = [{"email": one["email"]} for one in found["recipients"]]
    return found


def _secret_of(file: CommentedMap) -> str | None:
    spam = file.get("spam")
    secret = spam.get("secret") if isinstance(spam, Mapping) else None
    return secret if isinstance(secret, str) and VARIABLE.fullmatch(secret) else None


def _made(value: Any) -> Any:
    if isinstance(value, Mapping):
        return CommentedMap({name: _made(member) for name, member in value.items()})
    if isinstance(value, list):
        return CommentedSeq([_made(member) for member in value])
    return LiteralScalarString(value) if isinstance(value, str) and _is_block(value) else value


def _is_block(text: str) -> bool:
    """Return whether a text of several lines reads well as a block; ruamel.yaml cannot write every other as one."""
    lines = text.removesuffix("\n").split("\n")
    return len(lines) > 1 and bool(lines[0]) and all(line == line.strip() and _is_plain(line) for line in lines)


def _is_plain(line: str) -> bool:
    return line.isprintable() and not line.startswith("#")


def _merged(old: Any, new: Any) -> Any:
    """Return the new value in what is there of the old: its comments, its order, its quotes."""
    if isinstance(old, CommentedMap) and isinstance(new, Mapping):
        for name in [name for name in old if name not in new]:
            del old[name]
        for name, value in new.items():
            old[name] = _merged(old[name], value) if name in old else _made(value)
        return old
    if isinstance(old, CommentedSeq) and isinstance(new, list):
        known = {_name(item): item for item in old}
        items = [_merged(known.get(_name(value)), value) for value in new]
        del old[len(items) :]
        for place, item in enumerate(items):
            if place < len(old):
                old[place] = item
            else:
                old.append(item)
        return old
    return old if old == new and isinstance(old, bool) == isinstance(new, bool) else _made(new)


def _name(item: Any) -> Any:
    if isinstance(item, Mapping):
        return next((str(item[name]) for name in NAMES if name in item), None)
    return item if isinstance(item, str) else None


def _plain(path: Path, value: Any, places: Iterator[int]) -> Any:
    if next(places, None) is None:  # a few aliases of aliases of aliases are billions
        raise CommandError("invalid_file", f"{path} has more than {MOST_VALUES:,} values.")
    if isinstance(value, Mapping):
        if not all(isinstance(name, str) for name in value):
            raise CommandError("invalid_file", f"{path}: the name of a member is no text.")
        return {str(name): _plain(path, member, places) for name, member in value.items()}
    if isinstance(value, list):
        return [_plain(path, member, places) for member in value]
    if isinstance(value, dt.date):  # a date without quotes
        return value.isoformat()
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise CommandError("invalid_file", f"{path}: {value!r} is no value of a form.")


def _brief(error: Exception) -> str:
    return " ".join(str(error).split())
