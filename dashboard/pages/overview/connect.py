"""The ways to connect a page with a form: a tab each, with code that has the form's id and a publishable key."""

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING

from django.utils.translation import gettext, gettext_lazy

from forms_app import snippets
from forms_app.file_fields.entries import has_files
from forms_app.models import Form
from forms_app.react_snippet import react_component
from forms_app.spam_protection import SpamProtection
from keys.models import AccessKey, Organization

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


@dataclasses.dataclass(frozen=True, slots=True)
class Code:
    """A snippet: `label` names it, for its copy button too; `advice` says where it goes."""

    label: str
    advice: str
    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class Way:
    """
    A tab. `codes`: the snippets that it needs, in order. `more`: one that is rarely needed.

    `needs_key`: its code has a publishable key. `proves`: a visitor of it can pass proof of work and captchas.
    `posts_files`: a form with files is sent like its page, which needs no key.
    """

    name: str
    label: "StrOrPromise"
    advice: "StrOrPromise"
    codes: Callable[[Form, str], list[Code]]
    needs_key: bool = True
    proves: bool = False
    posts_files: bool = False
    more: Callable[[Form, str], Code] | None = None


def _script(form: Form, key: str) -> list[Code]:
    html = gettext("A form of your page. Keep yours if it has one, or paste this one and change it as you like.")
    tag = gettext("Once on the page, before </body>. It sends every form of the page.")
    return [
        Code(gettext("The form"), html, snippets.scripted_html(form)),
        Code(gettext("Script tag"), tag, snippets.script_tag(form, key)),
    ]


def _pinned(form: Form, key: str) -> Code:
    advice = gettext("Exactly this version, checked by its hash (SRI). It gets no fixes until you paste a newer one.")
    return Code(gettext("Script tag, pinned"), advice, snippets.script_tag(form, key, pinned=True))


def _advice_on_fetch(form: Form) -> str:
    if has_files(form.fields):
        return gettext("It sends the first form of your page, with its files.")
    return gettext("Replace the example values.")


def _advice_on_curl(form: Form) -> str:
    if has_files(form.fields):
        return gettext("Replace the example values, and the names of the files with your own paths.")
    return gettext("Replace the example values.")


WAYS = (
    Way(
        "script",
        gettext_lazy("Script tag"),
        gettext_lazy(
            "Visitors stay on your page, see messages at the fields, and nothing is lost on a bad connection."
        ),
        _script,
        proves=True,
        more=_pinned,
    ),
    Way(
        "html",
        "HTML",
        gettext_lazy(
            "Works without any script. Visitors go to a thank-you page, or to the address in the settings of the form."
        ),
        lambda form, key: [
            Code(gettext("Plain HTML"), gettext("Paste it into your page."), snippets.plain_html(form, key))
        ],
        needs_key=False,
        proves=True,
    ),
    Way(
        "react",
        "React",
        gettext_lazy("A component without a package of ours. Before its script has loaded it works as plain HTML."),
        lambda form, key: [
            Code(gettext("React component"), gettext("Save it as Form.jsx."), react_component(form, key))
        ],
        needs_key=False,
    ),
    Way(
        "fetch",
        "fetch",
        gettext_lazy("From your own JavaScript."),
        lambda form, key: [Code("fetch", _advice_on_fetch(form), snippets.fetch_call(form, key))],
        posts_files=True,
    ),
    Way(
        "curl",
        "curl",
        gettext_lazy("From a shell, to see an answer of the API."),
        lambda form, key: [Code("curl", _advice_on_curl(form), snippets.curl_command(form, key))],
        posts_files=True,
    ),
)


@dataclasses.dataclass(frozen=True, slots=True)
class Connection:
    """The chosen way for a form. `key`: "" without a usable publishable key; `is_test`: it is one of test mode."""

    form: Form
    way: Way
    key: str
    is_test: bool

    @property
    def ways(self) -> list[tuple[Way, bool]]:
        return [(way, way == self.way) for way in WAYS]

    @property
    def needs_key(self) -> bool:
        """Whether the code has a key. A page that posts without ours has one only in test mode."""
        return self.is_test or (self.way.needs_key and not (self.way.posts_files and has_files(self.form.fields)))

    @property
    def lacks_key(self) -> bool:
        """Whether the code needs a publishable key and there is none."""
        return self.needs_key and not self.key

    @property
    def codes(self) -> list[Code]:
        return [] if self.lacks_key else self.way.codes(self.form, self.key if self.needs_key else "")

    @property
    def more(self) -> Code | None:
        return self.way.more(self.form, self.key) if self.way.more and not self.lacks_key else None

    @property
    def is_refused(self) -> bool:
        """Whether the form asks for a proof that this way does not send."""
        protection = SpamProtection.of(self.form.spam_protection)
        return not self.way.proves and bool(protection.proof_of_work or protection.captcha)


def connection_of(organization: Organization, form: Form, *, way: str, key: str) -> Connection:
    """Return the way that `?snippet=` names, the first one by default, with the test key for `?key=test`."""
    chosen = next((each for each in WAYS if each.name == way), WAYS[0])
    mode = AccessKey.Mode.TEST if key == AccessKey.Mode.TEST else AccessKey.Mode.LIVE
    return Connection(form, chosen, snippets.publishable_key(organization, mode), mode == AccessKey.Mode.TEST)
