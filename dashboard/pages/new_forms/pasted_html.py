"""
The inputs of HTML that a user pastes: what a browser would send from it, under which name and with which label.

The HTML is anybody's: libxml2 ends at 256 levels, and every loop here is bounded. Nothing of it is shown as markup.
"""

import dataclasses
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from lxml import etree

from forms_app.field_definitions import MAX_LABEL

MAX_BYTES = 200_000  # of UTF-8; with its frame it fits into MAX_BODY_BYTES
MAX_INPUTS = 2_000  # that are looked at
MAX_OPTIONS_READ = 500  # of one select
MAX_OF_A_GROUP = 50  # inputs of one fieldset that are looked at
MAX_STEPS = 1_000  # through the elements of one label
INPUTS = ("input", "select", "textarea")
BUTTONS = frozenset({"button", "image", "reset", "submit"})
_INNER_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_NO_LETTER = re.compile(r"[^\w]|_")
HEADINGS = ("h1", "h2", "h3")
NOT_TEXT = frozenset({"button", "noscript", "script", "select", "style", "template", "textarea"})


@dataclasses.dataclass(slots=True)
class FoundInput:
    """
    One input of the page. `type`: as in HTML in lower case, or `select`, `select-multiple`, `textarea`.

    `group`: the legend of its fieldset. `accept`, `multiple`: of a file input. `options`: `(value, text)` of a select,
    empty values included.
    """

    name: str
    type: str
    label: str
    group: str = ""
    accept: str = ""
    multiple: bool = False
    value: str = ""
    placeholder: str = ""
    autocomplete: str = ""
    required: bool = False
    disabled: bool = False
    options: list[tuple[str, str]] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(slots=True)
class PastedPage:
    """The inputs of one form of the page; how many other forms have some; whether the page was too deep to read on."""

    inputs: list[FoundInput]
    title: str = ""
    other_forms: int = 0
    custom: list[str] = dataclasses.field(default_factory=list)  # names of custom elements
    is_cut: bool = False


def read_html(text: str) -> PastedPage:
    """Return the inputs of the form with the most of them, or of the whole text if it has no form."""
    root, is_cut = _parse(text)
    if root is None:
        return PastedPage([], is_cut=is_cut)
    found = list(islice(root.iter(*INPUTS), MAX_INPUTS + 1))
    is_cut = is_cut or len(found) > MAX_INPUTS
    forms = _by_form(root, found[:MAX_INPUTS])
    form, inputs = max(forms.items(), key=lambda item: len(item[1]), default=(None, []))
    labels = _Labels(root)
    return PastedPage(
        [_found(one, labels) for one in inputs],
        _title(root if form is None else form),
        len(forms) - 1 if forms else 0,
        _custom(root if form is None else form),
        is_cut,
    )


def _parse(text: str) -> tuple[Any, bool]:
    """Return the root element or None, and whether libxml2 stopped at its depth."""
    parser = etree.HTMLParser(  # bytes, since a text with `<?xml encoding=…?>` is refused
        encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True, huge_tree=False
    )
    try:
        root = etree.fromstring(text.replace("\0", "").encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError:  # nothing but white space
        root = None
    return root, any(error.type_name == "ERR_RESOURCE_LIMIT" for error in parser.error_log)


def _by_form(root: Any, inputs: Iterable[Any]) -> dict[Any, list[Any]]:
    """Return the inputs by their form, without buttons and search forms; None: outside any form."""
    ids: dict[str, Any] = {}
    for form in islice(root.iter("form"), MAX_INPUTS):
        ids.setdefault(form.get("id", ""), form)
    forms: dict[Any, list[Any]] = {}
    for one in inputs:
        if _type(one) in BUTTONS:
            continue
        named = ids.get(one.get("form", "")) if one.get("form") else None
        form = named if named is not None else next(one.iterancestors("form"), None)
        if form is None or form.get("role", "").lower() != "search":
            forms.setdefault(form, []).append(one)
    return forms


def _found(one: Any, labels: "_Labels") -> FoundInput:
    return FoundInput(
        name=_attribute(one, "name") or _attribute(one, "id"),
        type=_type(one),
        label=labels.of(one),
        group=labels.of_group(one),
        accept=_attribute(one, "accept"),
        multiple=one.get("multiple") is not None,
        value=_attribute(one, "value"),
        placeholder=_attribute(one, "placeholder"),
        autocomplete=_attribute(one, "autocomplete").lower(),
        required=one.get("required") is not None or one.get("aria-required", "").lower() == "true",
        disabled=one.get("disabled") is not None,
        options=_options(one) if one.tag == "select" else [],
    )


def _type(one: Any) -> str:
    if one.tag == "select":
        return "select-multiple" if one.get("multiple") is not None else "select"
    return "textarea" if one.tag == "textarea" else _attribute(one, "type").lower() or "text"


def _options(select: Any) -> list[tuple[str, str]]:
    options = []
    for option in islice(select.iter("option"), MAX_OPTIONS_READ):
        text = _text(option)
        value = option.get("value")
        options.append((text if value is None else " ".join(value.split()), text))
    return options


class _Labels:
    def __init__(self, root: Any) -> None:
        self.by_id: dict[str, Any] = {}
        for label in islice(root.iter("label"), MAX_INPUTS):
            self.by_id.setdefault(label.get("for", ""), label)
        self.texts: dict[Any, str] = {}

    def of(self, one: Any) -> str:
        """Return the text at an input: its label, else a text that replaces one, else its name in words."""
        label = self.by_id.get(one.get("id", "")) if one.get("id") else None
        if label is None:
            label = next(one.iterancestors("label"), None)
        return (
            self._text(label)
            or _short(_attribute(one, "aria-label"))
            or _caption(one)
            or _short(_attribute(one, "title"))
            or words_of(_attribute(one, "name") or _attribute(one, "id"))
        )

    def of_group(self, one: Any) -> str:
        """Return the legend of the fieldset, or the label of the group, that holds inputs of this name only."""
        around = next((up for up in one.iterancestors() if _is_group(up)), None)
        if around is None:
            return ""
        inputs = (other for other in around.iter(*INPUTS) if _type(other) not in BUTTONS)
        if any(other.get("name") != one.get("name") for other in islice(inputs, MAX_OF_A_GROUP)):
            return ""
        return self._text(around.find("legend")) or _short(_attribute(around, "aria-label"))

    def _text(self, element: Any) -> str:
        if element is None:
            return ""
        if element not in self.texts:
            self.texts[element] = _short(_text(element))
        return self.texts[element]


def _caption(one: Any) -> str:
    """Return the placeholder of an input, if it names the value: `you@example.com` and `+1 555` are examples of one."""
    placeholder = _short(_attribute(one, "placeholder"))
    return "" if any(char.isdigit() or char in "@/" for char in placeholder) else placeholder


def _is_group(element: Any) -> bool:
    return element.tag == "fieldset" or str(element.get("role", "")).lower() in ("group", "radiogroup")


def _text(element: Any) -> str:
    """Return the text inside an element without that of inputs and scripts, and no more of it than a label has."""
    found = ""
    for part in islice(_parts(element), MAX_STEPS):
        found += part
        if len(found) > 2 * MAX_LABEL:
            break
    return " ".join(found.split())


def _parts(element: Any) -> Iterator[str]:
    walk = etree.iterwalk(element, events=("start", "end"))
    for event, node in walk:
        if event == "start" and node is not element and node.tag in NOT_TEXT:
            walk.skip_subtree()
        elif event == "start":
            yield node.text or ""
        if event == "end" and node is not element:
            yield node.tail or ""


def _title(around: Any) -> str:
    """Return a name for the form: its first heading, else the last one before it, else the title of the page."""
    inside = next(around.iter(*HEADINGS), None)
    before = around.xpath("(preceding::h1 | preceding::h2 | preceding::h3)[last()]")
    found = inside if inside is not None else next(iter([*before, *around.xpath("(//title)[1]")]), None)
    return "" if found is None else _short(_text(found))


def _custom(around: Any) -> list[str]:
    names = islice((one for one in around.iter() if "-" in str(one.tag) and one.get("name")), MAX_INPUTS)
    return list(dict.fromkeys(f"<{one.tag}> {_short(one.get('name'))}" for one in names))


def _attribute(one: Any, name: str) -> str:
    return str(one.get(name) or "").strip()


def _short(text: str) -> str:
    """Return a text as a label: one line, without the marks of required inputs."""
    return " ".join(text.split())[:MAX_LABEL].rstrip(" *:")


def words_of(name: str) -> str:
    """Return a name in words: `first_name`, `firstName` and `user[first-name]` have the same style."""
    parted = _INNER_CAPITAL.sub(" ", name[:MAX_LABEL])
    words = " ".join(_NO_LETTER.sub(" ", parted).split()).lower()
    return words[:1].upper() + words[1:]
