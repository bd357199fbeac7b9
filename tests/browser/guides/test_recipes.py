"""docs/recipes.md: each block, with what its framework makes of it, sends a form from a page in Chromium."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.guides.components import build, open_component, run
from tests.browser.guides.snippets import VALUES, blocks, filled_in, with_form
from tests.support.chromium.coverage import TOOLS
from tests.support.chromium.site import PAGES
from tests.support.chromium.visitor import Visitor

RECIPES = {file: code for _, file, code in blocks("recipes")}
NEXT = {"app/contact/page.tsx", "app/contact/contact-form.tsx"}
HUGO = {"layouts/shortcodes/contact-form.html", "content/contact.md"}
THANKS = "Thank you. We will answer soon."
WITHOUT_SCRIPTS = {"java_script_enabled": False}


@pytest.fixture
def visitor(plain_visitor: Visitor) -> Visitor:
    return with_form(plain_visitor)


def write(folder: Path, visitor: Visitor, *files: str) -> Path:
    """Write the blocks of these files below a folder that has our packages; return the first one's path."""
    (folder / "node_modules").symlink_to(TOOLS / "node_modules")
    for file in files:
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(filled_in(RECIPES[file], visitor))
    return folder / files[0]


def test_blocks__of_the_page__all_have_a_test() -> None:
    assert set(RECIPES) == {
        *("src/Contact.jsx", "src/Contact.vue", "src/pages/contact.astro", "webflow-footer.html"),
        *NEXT,
        *HUGO,
        "wordpress-block.html",
    }


@pytest.mark.parametrize(("kind", "file"), [("react", "src/Contact.jsx"), ("vue", "src/Contact.vue")])
def test_component__shows_the_services_message__then_thanks(
    visitor: Visitor, tmp_path: Path, kind: str, file: str
) -> None:
    visitor.forgives = ["400"]
    page = visitor.page
    open_component(visitor, kind, write(tmp_path, visitor, file))
    visitor.send(**{**VALUES, "email": "ada@nowhere"})  # enough for a browser
    expect(page.get_by_role("alert")).to_have_text("Email must be an email address.")
    visitor.send(**VALUES)
    expect(page.get_by_role("status")).to_have_text(THANKS)
    assert visitor.stored() == [VALUES]


def test_next_page__type_checked_and_rendered_on_a_server__hydrates_and_sends(visitor: Visitor, tmp_path: Path) -> None:
    visitor.forgives = ["400"]
    page = visitor.page
    open_component(visitor, "next", write(tmp_path, visitor, *sorted(NEXT, reverse=True)))
    expect(page.get_by_role("heading", name="Contact")).to_be_visible()
    visitor.send(**{**VALUES, "email": "ada@nowhere"})
    expect(page.get_by_role("alert")).to_have_text("Email must be an email address.")
    visitor.send(**VALUES)
    expect(page.get_by_role("status")).to_have_text(THANKS)
    assert visitor.stored() == [VALUES]


def test_next_files__in_strict_typescript__have_no_error(visitor: Visitor, tmp_path: Path) -> None:
    write(tmp_path, visitor, *NEXT)
    options = {"strict": True, "noEmit": True, "jsx": "react-jsx", "module": "esnext", "moduleResolution": "bundler"}
    options |= {"target": "es2022", "types": ["react"], "skipLibCheck": True}
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "include": ["app"]}))
    run("node", str(TOOLS / "node_modules/typescript/bin/tsc"), "-p", str(tmp_path))


@pytest.mark.parametrize("context_options", [WITHOUT_SCRIPTS], indirect=True)
def test_next_page__before_its_script_has_loaded__sends_as_plain_html(visitor: Visitor, tmp_path: Path) -> None:
    open_component(visitor, "next", write(tmp_path, visitor, *sorted(NEXT, reverse=True)))
    visitor.send(**VALUES)
    expect(visitor.page.get_by_role("heading", name="Thank you")).to_be_visible()
    assert visitor.stored() == [VALUES]


def test_astro_page__compiled__sends_by_its_script_tag(visitor: Visitor, tmp_path: Path) -> None:
    markup, _ = build("astro", write(tmp_path, visitor, "src/pages/contact.astro"))
    visitor.page.goto(visitor.site.add(f"<!doctype html>{markup}"))
    visitor.send(**VALUES)
    expect(visitor.thanks).to_be_visible()
    assert visitor.stored() == [VALUES]


def test_hugo_site__with_the_shortcode__sends(visitor: Visitor, tmp_path: Path) -> None:
    write(tmp_path, visitor, *HUGO)
    (tmp_path / "hugo.toml").write_text('baseURL = "/"\ndisableKinds = ["taxonomy", "term", "RSS", "home"]\n')
    layout = tmp_path / "layouts" / "_default" / "single.html"
    layout.parent.mkdir()
    layout.write_text('<!doctype html><html lang="en"><title>{{ .Title }}</title><main>{{ .Content }}</main></html>')
    run("hugo", "--quiet", "--source", str(tmp_path), "--destination", str(tmp_path / "public"))
    visitor.page.goto(f"{visitor.site.add_folder(tmp_path.name, tmp_path / 'public')}/contact/index.html")
    visitor.send(**VALUES)
    expect(visitor.page.get_by_role("heading", name="Thank you")).to_be_visible()
    assert visitor.stored() == [VALUES]


def test_webflow_page__with_the_footer__sends(visitor: Visitor) -> None:
    visitor.form_id = visitor.tenant.form()
    page = (PAGES / "webflow.html").read_text()
    visitor.page.goto(visitor.site.add(page.replace("{{tag}}", filled_in(RECIPES["webflow-footer.html"], visitor))))
    visitor.page.get_by_label("Email Address").fill("ada@example.com")
    visitor.page.get_by_role("button", name="Submit").click()
    expect(visitor.thanks).to_be_visible()
    assert [one["email"] for one in visitor.stored()] == ["ada@example.com"]


def test_wordpress_block__in_a_page__sends(visitor: Visitor) -> None:
    block = filled_in(RECIPES["wordpress-block.html"], visitor)
    visitor.open(f'<main><div class="entry-content wp-block-post-content">{block}</div></main>', tag="")
    visitor.send(**VALUES)
    expect(visitor.page.get_by_role("heading", name="Thank you")).to_be_visible()
    assert visitor.stored() == [VALUES]
