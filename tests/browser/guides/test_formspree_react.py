"""docs/moving.md, "Formspree React": a saved app moves by the guide's change, and so do its other blocks."""

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import FilePayload, Locator, expect

from tests.browser.guides.components import open_component
from tests.browser.guides.snippets import FIELDS, VALUES, blocks, filled_in, with_form
from tests.services.application import Application
from tests.support.chromium.site import SHELL
from tests.support.chromium.visitor import Visitor
from tests.support.npm.packages import pack, run_node, unpack
from tests.support.submitting import records
from tests.support.tenants import Tenant, make_tenant, text_field

HERE = Path(__file__).parent
GUIDE = {file: code for _, file, code in blocks("moving") if file}
README = {file: code for _, file, code in blocks("../clients/react/README")}
FORMSPREE, OURS = "@formspree/react", "@fieldpost/react"
CONTACT, JOBS = "xqkwjdnz", "mrgvplye"  # Formspree's ids of the app's forms
PDF: FilePayload = {"name": "cv.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.7\n1 0 obj<<>>endobj\n%%EOF\n"}
TEXT: FilePayload = {"name": "cv.txt", "mimeType": "text/plain", "buffer": b"Ada"}
NOT_A_PDF = "A file in “CV” has a type that is not accepted, or its name suggests another type. Accepted: PDF"
STRICT: dict[str, Any] = {
    "strict": True,
    "noEmit": True,
    "jsx": "react-jsx",
    "module": "esnext",
    "moduleResolution": "bundler",
}
STRICT |= {"target": "es2022", "types": ["react"], "skipLibCheck": True}


@dataclass(frozen=True)
class Moved:
    """Two forms of an organization at the addresses that the app's Formspree ids are, and the app's scripts."""

    tenant: Tenant
    forms: tuple[str, str]
    scripts: dict[str, str]


@pytest.fixture(scope="module")
def npm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the archive of our package; folders next to it have the node modules."""
    return pack("react", tmp_path_factory.mktemp("npm"))


def change(app: Path, diff: str, *, back: bool = False) -> None:
    undo = ["--reverse"] if back else []
    subprocess.run(["git", "apply", *undo, "-"], cwd=app, input=diff, text=True, check=True)


def saved_app(npm: Path, name: str) -> Path:
    return Path(shutil.copytree(HERE / "formspree_app", npm.parents[2] / name))


def bundle(app: Path) -> str:
    options = ["--bundle", "--jsx=automatic", "--log-level=error", '--define:process.env.NODE_ENV="production"']
    return run_node("esbuild", "src/main.jsx", *options, cwd=app)


@pytest.fixture(scope="module")
def moved(npm: Path, service: Application) -> Moved:
    diff = GUIDE["src/App.jsx"].replace("https://forms.example.com", service.base_url)
    original, by_import, by_alias = (saved_app(npm, name) for name in ("original", "by-import", "by-alias"))

    unpack(npm, by_import, OURS)
    change(by_import, diff)

    unpack(npm, by_alias, FORMSPREE)
    change(by_alias, GUIDE["package.json"])
    change(by_alias, diff)
    moved_file = by_alias / "src" / "App.jsx"
    moved_file.write_text(moved_file.read_text().replace(OURS, FORMSPREE))

    tenant = make_tenant()
    jobs = [
        text_field("name", required=True),
        text_field("cv", label="CV", type="File", required=True, accept=["application/pdf"]),
    ]
    forms = (
        tenant.form(address=CONTACT, fields=FIELDS[1:]),
        tenant.form(name="Jobs", address=JOBS, fields=jobs, redirect_url="https://studio.example/thanks"),
    )
    # Formspree's client as it is, with our address in the place of theirs.
    scripts = {"original": bundle(original).replace("https://formspree.io", service.base_url)}
    return Moved(tenant, forms, {**scripts, "by import": bundle(by_import), "by alias": bundle(by_alias)})


@pytest.fixture
def visitor(plain_visitor: Visitor) -> Visitor:
    plain_visitor.forgives = ["400"]
    return with_form(plain_visitor)


def by_message(visitor: Visitor, text: str) -> Locator:
    return visitor.page.get_by_text(text, exact=True)


@pytest.mark.parametrize(
    ("script", "email_error"),
    [
        ("original", "Email Email must be an email address."),
        ("by import", "Email must be an email address."),
        ("by alias", "Email must be an email address."),
    ],
)
def test_saved_app__before_and_after_the_move__shows_and_stores_the_same(
    visitor: Visitor, moved: Moved, script: str, email_error: str
) -> None:
    earlier = [len(records(visitor.api, moved.tenant, form)) for form in moved.forms]
    page, site = visitor.page, visitor.site
    source = site.add(
        moved.scripts[script], path=f"/{script.replace(' ', '-')}.js", headers={"Content-Type": "text/javascript"}
    )
    page.goto(site.add(SHELL.format(f'<div id="root"></div><script src="{source}"></script>')))

    page.get_by_label("Email Address").fill("ada@nowhere")
    page.get_by_label("Your message").fill("Hello")
    page.get_by_role("button", name="Submit").click()
    expect(by_message(visitor, email_error)).to_be_visible()
    page.get_by_label("Email Address").fill("ada@example.com")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_text("Thanks for your message!")).to_be_visible()
    page.get_by_role("button", name="Write another").click()
    expect(page.get_by_label("Email Address")).to_have_value("")
    expect(page.get_by_text("must be")).to_have_count(0)

    page.get_by_role("link", name="Jobs").click()
    page.get_by_label("CV").set_input_files(TEXT)
    page.get_by_role("button", name="Apply").click()
    expect(page.locator(".error")).to_have_text(["Name is required."])
    page.get_by_label("Full Name").fill("Ada")
    page.get_by_role("button", name="Apply").click()
    expect(page.locator(".error")).to_have_text([NOT_A_PDF])
    page.get_by_label("CV").set_input_files(PDF)
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_text("Thanks for applying! Next: https://studio.example/thanks")).to_be_visible()

    page.get_by_role("link", name="News").click()
    page.get_by_label("Newsletter").fill("bob@example.com")
    page.get_by_role("button", name="Join").click()
    expect(page.locator("output")).to_have_text("Joined")

    contact, jobs = (
        records(visitor.api, moved.tenant, form)[count:] for form, count in zip(moved.forms, earlier, strict=True)
    )
    assert [record["data"] for record in contact] == [
        {"email": "ada@example.com", "message": "Hello"},
        {"email": "bob@example.com", "message": "Newsletter"},
    ]
    assert [record["data"] for record in jobs] == [
        {"name": "Ada", "cv": "cv.pdf", "subject": "A job application", "page": "#jobs", "visitor": "en-US"}
    ]
    (file,) = jobs[0]["files"]
    assert (file["name"], file["size"]) == (PDF["name"], len(PDF["buffer"]))


def test_change_of_the_guide__undone__leaves_the_saved_app(npm: Path, tmp_path: Path) -> None:
    app = tmp_path / "app"
    shutil.copytree(HERE / "formspree_app", app)
    for diff in (GUIDE["src/App.jsx"], GUIDE["package.json"]):
        change(app, diff)
        changed = [line for line in diff.splitlines() if line.startswith(("+ ", "+i")) and not line.startswith("+++")]
        assert len(changed) <= 2, "an import line, and the address"
    version = json.loads((npm.parent / "package.json").read_text())["version"]
    dependencies = json.loads((app / "package.json").read_text())["dependencies"]
    assert dependencies[FORMSPREE] == f"npm:{OURS}@^{version}"
    for diff in (GUIDE["src/App.jsx"], GUIDE["package.json"]):
        change(app, diff, back=True)
    for path in ("src/App.jsx", "package.json"):
        assert (app / path).read_text() == (HERE / "formspree_app" / path).read_text()


@pytest.fixture(scope="module")
def component_app(npm: Path) -> Path:
    app = npm.parents[2] / "components"
    unpack(npm, app, OURS)
    (app / "src").mkdir()
    return app


def write(app: Path, visitor: Visitor, file: str, code: str) -> Path:
    path = app / file
    path.write_text(filled_in(code, visitor))
    return path


def test_signatures__are_those_of_formspree(component_app: Path, visitor: Visitor) -> None:
    shutil.copy(HERE / "formspree_app" / "signatures.tsx", component_app / "src")
    write(component_app, visitor, "src/Newsletter.tsx", GUIDE["src/Newsletter.tsx"])
    (component_app / "tsconfig.json").write_text(json.dumps({"compilerOptions": STRICT, "include": ["src"]}))
    run_node("tsc", "-p", ".", cwd=component_app)


def test_block__with_a_whole_url__needs_no_provider(visitor: Visitor, component_app: Path) -> None:
    open_component(visitor, "react", write(component_app, visitor, "src/Newsletter.tsx", GUIDE["src/Newsletter.tsx"]))
    visitor.send(name="Ada", email="ada@nowhere")
    expect(visitor.page.get_by_role("alert")).to_have_text("Email must be an email address.")
    visitor.send(email="ada@example.com")
    expect(visitor.page.get_by_role("status")).to_be_visible()
    assert visitor.stored() == [{"name": "Ada", "email": "ada@example.com", "message": "From A page"}]


def test_readme__of_the_package__shows_errors__then_thanks(visitor: Visitor, component_app: Path) -> None:
    open_component(visitor, "react", write(component_app, visitor, "src/Contact.jsx", README["src/Contact.jsx"]))
    visitor.send(**{**VALUES, "name": "", "email": "ada@nowhere"})
    expect(visitor.page.get_by_role("alert")).to_have_text(["Name is required.", "Email must be an email address."])
    visitor.send(**VALUES)
    expect(visitor.page.get_by_role("status")).to_have_text("Thank you. We will answer soon.")
    assert visitor.stored() == [VALUES]


NOT_SENT = "The form could not be sent. Check your connection and try again."
ANSWERS: list[tuple[int, str, str]] = [
    (0, "", NOT_SENT),
    (502, "<h1>Bad gateway</h1>", NOT_SENT),
    (429, '{"error": "rate_limited", "message": "Try again in a minute."}', "Try again in a minute."),
    (503, "null", NOT_SENT),
    (503, "{}", NOT_SENT),
]


def test_form__that_could_not_be_sent__says_so_and_can_be_sent_again(visitor: Visitor, component_app: Path) -> None:
    visitor.forgives = ["Failed to load resource"]
    visitor.form_id = visitor.tenant.form(published=False)
    open_component(visitor, "react", write(component_app, visitor, "src/Contact.jsx", README["src/Contact.jsx"]))
    answers: list[Any] = list(ANSWERS)

    def answer(route: Any) -> None:
        if not answers:
            route.continue_()
            return
        status, body, _ = answers.pop(0)
        if status:
            route.fulfill(status=status, body=body, headers={"Access-Control-Allow-Origin": "*"})
        else:
            route.abort("connectionrefused")

    visitor.page.route("**/f/*", answer)
    alert, button = visitor.page.get_by_role("alert"), visitor.page.get_by_role("button")
    for _, _, shown in ANSWERS:
        visitor.send(**VALUES)
        expect(alert).to_have_text(shown)
        expect(button).to_be_enabled()
    visitor.send(**VALUES)
    expect(alert).to_contain_text("does not take submissions now")


@pytest.mark.parametrize(
    ("left_out", "error"),
    [(' endpoint="https://forms.example.com"', "Set the service's address"), ("frm_…", "Name the form")],
)
def test_form__without_an_address__fails_while_one_develops(
    visitor: Visitor, component_app: Path, left_out: str, error: str
) -> None:
    visitor.forgives = [error]
    with visitor.page.expect_event("pageerror", lambda seen: error in str(seen)):
        code = README["src/Contact.jsx"].replace(left_out, "")
        open_component(visitor, "react", write(component_app, visitor, "src/Contact.jsx", code))
