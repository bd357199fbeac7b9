"""Packages that the fork server of the tests has imported are as a program itself would import them."""

import json
import os
import subprocess
import sys

import pytest

from tests.services.forks import PACKAGES, ROOT

LOAD = """
import json, sys
from importlib import import_module
for name in sys.argv[1:]:
    import_module(name)
from django.conf import settings
assert not settings.configured
import django
from django.utils.module_loading import import_string
django.setup()
import_module(settings.ROOT_URLCONF)
for middleware in settings.MIDDLEWARE:
    import_string(middleware)
ours = {"config", "keys", "forms_app", "submissions", "webhooks", "dashboard", "__main__", "__mp_main__"}
print(json.dumps({
    module: {name: type(value).__name__ for name, value in vars(loaded).items() if not name.startswith("__")}
    for module, loaded in sys.modules.items() if module.partition(".")[0] not in ours
}))
"""


def globals_with(*preloaded: str) -> dict[str, dict[str, str]]:
    """Return the names in each package of others, with their types, after the project was loaded behind these."""
    command = [sys.executable, "-c", LOAD, *preloaded]
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.services.settings"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    loaded: dict[str, dict[str, str]] = json.loads(done.stdout)
    return loaded


@pytest.mark.slow
@pytest.mark.on_sqlite
def test_packages__imported_before_settings__are_what_they_are_behind_them() -> None:
    """A package may catch that there are no settings, and leave something out permanently."""
    plain, early = globals_with(), globals_with(*PACKAGES)
    assert plain.keys() <= early.keys()
    assert {
        (module, name): early[module].get(name)
        for module, names in plain.items()
        for name, kind in names.items()
        if early[module].get(name) != kind
    } == {}
