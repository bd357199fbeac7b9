"""The forms of an HTML page: their tags as they are written, and their inputs."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

NO_LABEL = frozenset({"select", "textarea", "button", "script", "style"})  # whose text is no part of a label
HEADINGS = frozenset({"h1", "h2", "h3", "title"})
WITH_TEXT = HEADINGS | {"label", "legend", "option"}
Attributes = dict[str, str]


@dataclass
class Input:
    """One input. `type`: as in HTML, or `select`, `select-multiple`, `textarea`; `options`: value and text."""

    name: str
    type: str
    attributes: Attributes
    label: str = ""
    group: str = ""  # the legend of its fieldset
    options: list[tuple[str, str]] = field(default_factory=list)


@dataclass
class PageForm:
    """A form. `tag` is its start tag as it is written, at the position `start` of the page, in `line`."""

    tag: str
    start: int
    line: int
    attributes: Attributes
    title: str
    inputs: list[Input] = field(default_factory=list)
    captchas: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ScriptTag:
    """A script tag with a `src`."""

    attributes: Attributes


def scripts_of(text: str) -> list[ScriptTag]:
    return [ScriptTag(one) for one in _read(text).scripts]


def policies_of(text: str) -> list[str]:
    """Return the policies that the page itself has, in meta tags."""
    return _read(text).policies


def _read(text: str) -> "_Reader":
    reader = _Reader(text)
    reader.feed(text)
    reader.close()
    return reader


def forms_of(text: str) -> list[PageForm]:
    """Return the forms of a page that have inputs with names."""
    reader = _read(text)
    for form in reader.forms:
        for one in form.inputs:
            one.label = one.label or reader.labels.get(one.attributes.get("id"), "")
    return [form for form in reader.forms if any(one.name for one in form.inputs)]


class _Reader(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.forms: list[PageForm] = []
        self.labels: dict[str | None, str] = {}  # by the id of their input
        self.scripts: list[Attributes] = []
        self.policies: list[str] = []
        self._starts = [0]
        for line in text.split("\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._form: PageForm | None = None
        self._heading = self._legend = ""
        self._texts: list[tuple[str, list[str], Attributes, list[Input]]] = []  # elements whose text is collected
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in reversed(attrs)}
        if tag in WITH_TEXT:
            if tag == "option":  # its end tag may be left out
                self._end_text(tag)
            self._texts.append((tag, [], attributes, []))
        elif tag == "form":
            line, column = self.getpos()
            start = self._starts[line - 1] + column
            self._form = PageForm(self.get_starttag_text() or "", start, line, attributes, self._heading)
            self.forms.append(self._form)
        elif tag in ("input", "select", "textarea"):
            self._add_input(tag, attributes)
        elif tag == "script" and "src" in attributes:
            self.scripts.append(attributes)
        elif tag == "meta" and attributes.get("http-equiv", "").lower() == "content-security-policy":
            self.policies.append(attributes.get("content", ""))
        self._note_captcha(attributes)
        self._silent += tag in NO_LABEL

    def handle_endtag(self, tag: str) -> None:
        self._silent = max(0, self._silent - (tag in NO_LABEL))
        if tag == "form":
            self._form = None
        elif tag == "fieldset":
            self._legend = ""
        elif tag in WITH_TEXT or tag == "select":
            self._end_text("option" if tag == "select" else tag)

    def handle_data(self, data: str) -> None:
        if self._texts and (not self._silent or self._texts[-1][0] == "option"):
            self._texts[-1][1].append(data)

    def _add_input(self, tag: str, attributes: Attributes) -> None:
        if self._form is None:
            return
        kinds = {"select": "select-multiple" if "multiple" in attributes else "select", "textarea": "textarea"}
        kind = kinds.get(tag) or attributes.get("type", "").lower() or "text"
        found = Input(attributes.get("name", ""), kind, attributes, group=self._legend)
        self._form.inputs.append(found)
        for name, _, _, inside in self._texts:
            if name == "label":
                inside.append(found)

    def _note_captcha(self, attributes: Attributes) -> None:
        names = {"g-recaptcha", "h-captcha", "cf-turnstile"} & {*attributes.get("class", "").split()}
        if self._form is not None:
            self._form.captchas += sorted(names)
            self._form.captchas += [name for name in ("data-netlify-recaptcha",) if name in attributes]

    def _end_text(self, tag: str) -> None:
        """Use the text of the innermost open element, if it is of this tag."""
        if not self._texts or self._texts[-1][0] != tag:
            return
        _, parts, attributes, inside = self._texts.pop()
        text = " ".join("".join(parts).split())
        if tag in HEADINGS:
            self._end_heading(tag, text)
        elif tag == "legend":
            self._legend = text
        elif tag == "label":
            if named := attributes.get("for") or attributes.get("htmlfor"):  # as JSX writes it
                self.labels.setdefault(named, text)
            for one in inside:
                one.label = one.label or text
        elif self._form and self._form.inputs:
            self._form.inputs[-1].options.append((attributes.get("value", text), text))

    def _end_heading(self, tag: str, text: str) -> None:
        if self._form is None:
            self._heading = text if tag != "title" or not self._heading else self._heading
        elif text and not any(one.label for one in self._form.inputs):
            self._form.title = text  # the first heading inside
