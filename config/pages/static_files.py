"""Static files: under hashed names and compressed after `collectstatic`, as they are before."""

from typing import Any

from whitenoise.storage import CompressedManifestStaticFilesStorage


class StaticFiles(CompressedManifestStaticFilesStorage):
    """WhiteNoise's storage, which also works before `collectstatic` was run: `make run` needs no such step."""

    manifest_strict = False

    def stored_name(self, name: str) -> str:
        """Return the hashed name, or the name itself where there is none."""
        stored: str = self.hashed_files.get(self.hash_key(self.clean_name(name)), name)
        return stored

    def url(self, name: str | None, force: bool = False) -> str:
        """Return the address of a file."""
        given: Any = name
        address: str = self._url(self.stored_name, given, force)
        return address
