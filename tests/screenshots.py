"""
`make screenshots`: every screen of the dashboard, on a desk and a phone, light and dark, into build/screenshots.

Four are copied to docs/images, for the guides and the README. One of them, `story.png`, is a submission that was really
posted and delivered.
"""

import os
import shutil
import tempfile
from pathlib import Path

from tests.services.environment import prepare_environment
from tests.services.packages import ensure, program
from tests.services.processes import ROOT

TARGET, IMAGES = ROOT / "build" / "screenshots", ROOT / "docs" / "images"
DESK, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
LOOKS = {
    "light": {"viewport": DESK, "color_scheme": "light"},
    "dark": {"viewport": DESK, "color_scheme": "dark"},
    "phone": {"viewport": PHONE, "color_scheme": "light"},
    "phone-dark": {"viewport": PHONE, "color_scheme": "dark"},
    "german": {"viewport": DESK, "color_scheme": "light", "locale": "de-DE"},
    "arabic": {"viewport": DESK, "color_scheme": "light", "locale": "ar"},
}
IN_THE_DOCUMENTS = {
    "overview-light": "overview",
    "form-build-dark": "builder",
    "submissions-form-light": "submissions",
    "story-light": "story",
}


def main() -> None:
    ensure(["chromium"])
    prepare_environment()
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    import django

    django.setup()
    from tests.services.application import Application

    with tempfile.TemporaryDirectory() as directory, Application(os.environ, Path(directory)) as service:
        # Playwright's own loop runs in this thread, where Django would refuse queries.
        os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
        take(service.base_url)
    for taken, name in IN_THE_DOCUMENTS.items():
        IMAGES.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(TARGET / f"{taken}.png", IMAGES / f"{name}.png")
    print(f"{len(list(TARGET.glob('*.png')))} screenshots in {TARGET.relative_to(ROOT)}")


def take(base_url: str) -> None:
    """Take every screen with all `LOOKS`."""
    from playwright.sync_api import sync_playwright

    from tests.support.chromium.dashboard_page import at_the_dashboard
    from tests.support.chromium.screens import ENTRANCES, furnish
    from tests.support.chromium.story import make_story

    shutil.rmtree(TARGET, ignore_errors=True)
    TARGET.mkdir(parents=True)
    furnished = furnish("Analytical Engines")
    owner, story = make_story(base_url)
    shown = ((None, ENTRANCES), (furnished.tenant.owner, list(furnished.paths())), (owner, [("story", story)]))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program("chromium"), args=["--no-sandbox"])
        for look, options in LOOKS.items():
            for user, screens in shown:
                with at_the_dashboard(browser, base_url, user, **options) as (page, _):
                    for name, path in screens:
                        page.goto(path)
                        page.wait_for_timeout(250)  # the chart is drawn, the stream has connected
                        page.screenshot(path=TARGET / f"{name}-{look}.png", full_page=look.startswith("phone"))
        browser.close()


if __name__ == "__main__":
    main()
