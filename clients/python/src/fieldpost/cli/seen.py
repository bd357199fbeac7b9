"""The ETags of forms as they were last seen: `forms/.fieldpost.json`, which git ignores."""

import json
from pathlib import Path

from fieldpost.cli.output import CommandError

NAME = ".fieldpost.json"


class Seen:
    """The ETags of one service's forms by key. `None` forgets one."""

    def __init__(self, folder: Path, url: str) -> None:
        self._path = folder / NAME
        self._url = url
        try:
            self._all: dict[str, dict[str, str]] = json.loads(self._path.read_text())
            self._forms = self._all.setdefault(url, {})
        except FileNotFoundError:
            self._all = {url: {}}
            self._forms = self._all[url]
        except (ValueError, AttributeError):
            raise CommandError("invalid_file", f"{self._path} cannot be read: delete it, and plan again.") from None

    def __getitem__(self, key: str) -> str | None:
        etag: str | None = self._forms.get(key)
        return etag

    def __setitem__(self, key: str, etag: str | None) -> None:
        if etag is None:
            self._forms.pop(key, None)
        else:
            self._forms[key] = etag

    def save(self) -> None:
        """Write the file, and the one that makes git ignore it."""
        write_own(self._path, json.dumps(self._all, indent=2, sort_keys=True) + "\n")
        ignored = self._path.with_name(".gitignore")
        lines = ignored.read_text().splitlines() if ignored.exists() else []
        if NAME not in lines:
            write_own(ignored, "\n".join([*lines, NAME]) + "\n")


def write_own(path: Path, text: str) -> None:
    """Write a file of the folder. Not through a link: a repository of somebody else may have one to a file of yours."""
    if path.is_symlink():
        raise CommandError("invalid_file", f"{path} is a link: the command writes files of its folder only.")
    path.write_text(text, encoding="utf-8")
