"""
Static files under names with a hash of their content, compressed and kept by browsers for a year.

No command prepares them: the first request for a file copies it, with its hash in the name and a compressed twin, to
STATIC_ROOT. Later requests and later processes find it there.
"""

import functools
import hashlib
import os
import re
import threading
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import StaticFilesStorage
from django.http import HttpRequest, HttpResponse
from whitenoise.compress import Compressor
from whitenoise.middleware import WhiteNoiseMiddleware

HASH_DIGITS = 12
HASHED = re.compile(rf"(.+)\.([0-9a-f]{{{HASH_DIGITS}}})(\.[^./]+)")


@functools.cache
def hash_of(name: str) -> str | None:
    """Return the hash of a file's content when it was first asked for, or None if there is no such file."""
    path = finders.find(name)
    return digest(Path(path).read_bytes()) if path else None


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:HASH_DIGITS]


class StaticFiles(StaticFilesStorage):
    """Gives files their address in pages; while DEBUG is on, that of the file as it is."""

    def url(self, name: str | None) -> str:
        stem, dot, ending = (name or "").rpartition(".")
        if name and dot and not settings.DEBUG and (found := hash_of(name)):
            name = f"{stem}.{found}.{ending}"
        address: str = super().url(name)
        return address


class StaticFilesMiddleware(WhiteNoiseMiddleware):
    """WhiteNoise, which also answers under hashed names."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        path = request.path_info
        if not self.autorefresh and path.startswith(self.static_prefix):
            for _ in range(2):
                file = self.files.get(path) or self.find_hashed(path)
                if file is None:
                    break
                try:
                    response: HttpResponse = self.serve(file, request)
                    return response
                except FileNotFoundError:  # somebody has emptied STATIC_ROOT: make the copy again
                    self.files.pop(path, None)
        answer: HttpResponse = super().__call__(request)
        return answer

    def add_files(self, root: str, prefix: str | None = None) -> None:
        """Read nothing at the start: copies are found when they are asked for."""

    def immutable_file_test(self, path: str, url: str) -> bool:  # noqa: ARG002 - as WhiteNoise calls it
        """Return whether a file is a copy under a hashed name, which browsers may keep."""
        return Path(path).is_relative_to(settings.STATIC_ROOT)

    def find_hashed(self, url: str) -> Any:
        """
        Return the file for an address with a hash, or None.

        For the hash of another release, without a copy here, that is the file of this one, which browsers keep for a
        minute: while an upgrade goes from host to host, pages of both ask either.
        """
        match = HASHED.fullmatch(url)
        plain = match[1] + match[3] if match else ""
        if match is None or plain not in self.files:
            return None
        copy = Path(settings.STATIC_ROOT) / url.removeprefix(self.static_prefix)
        if copy.exists() or make_copy(plain.removeprefix(self.static_prefix), match[2], copy):
            self.add_file_to_dictionary(url, str(copy))
            return self.files[url]
        return self.files[plain]


def make_copy(name: str, wanted: str, copy: Path) -> bool:
    """Write a file and its compressed twin to STATIC_ROOT; return whether its hash is the wanted one and it worked."""
    path = finders.find(name) if hash_of(name) == wanted else None
    content = Path(path).read_bytes() if path else b""
    if digest(content) != wanted:  # the code on disk is of another release already
        return False
    draft = copy.with_name(f".{os.getpid()}-{threading.get_ident()}-{copy.name}")
    try:
        copy.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(content)
        compressor = Compressor(quiet=True)
        twins = compressor.compress(str(draft)) if compressor.should_compress(copy.name) else []
        for twin in twins:  # first: a process that finds the copy finds its twin
            Path(twin).replace(copy.with_name(copy.name + Path(twin).suffix))
        draft.replace(copy)
    except OSError:  # a disk that is full or read-only costs only the caching
        return False
    return True
