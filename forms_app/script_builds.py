"""
Builds the files of `/forms.js` from their sources: `make forms.js`, or `python -m forms_app.script_builds`.

esbuild only minifies. A build is named by its hash and stays in `builds/` permanently, so that pages that pin it with
SRI work after an upgrade. `current.json` lists the builds that are served at the stable URLs.
"""

import base64
import hashlib
import json
import subprocess
from pathlib import Path

SOURCES = Path(__file__).parent / "static" / "forms_app"
BUILDS = Path(__file__).parent / "builds"
CURRENT = BUILDS / "current.json"
ESBUILD = Path("build/node/node_modules/.bin/esbuild")  # of requirements/node
TARGET = "es2020"  # Safari 14, Chrome 80, Firefox 74
HASH_DIGITS = 12


def minify(source: Path, *, esbuild: Path = ESBUILD, **constants: str) -> bytes:
    """Return a minified source, with each name in `constants` replaced by its value."""
    defined = [f"--define:{name}={json.dumps(value)}" for name, value in constants.items()]
    command = [
        str(esbuild),
        str(source),
        "--minify",
        f"--target={TARGET}",
        "--legal-comments=none",
        "--charset=utf8",
        *defined,
    ]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout  # noqa: S603 - our own command line


def describe(name: str, text: bytes) -> dict[str, str]:
    """Return `{file, integrity}` of a build of `name`, such as `forms.js`."""
    stem, digits = name.removesuffix(".js"), hashlib.sha256(text).hexdigest()[:HASH_DIGITS]
    integrity = base64.b64encode(hashlib.sha384(text).digest()).decode()
    return {"file": f"{stem}.{digits}.js", "integrity": f"sha384-{integrity}"}


def build_all(*, esbuild: Path = ESBUILD) -> dict[str, bytes]:
    """Return every file of a build, including `current.json`, by its name in `builds/`."""
    proof = minify(SOURCES / "forms.proof.js", esbuild=esbuild)
    known = {"forms.proof.js": describe("forms.proof.js", proof)}
    solver = known["forms.proof.js"]
    constants = {"PROOF_FILE": solver["file"], "PROOF_INTEGRITY": solver["integrity"]}
    script = minify(SOURCES / "forms.js", esbuild=esbuild, **constants)
    known["forms.js"] = describe("forms.js", script)
    files = {known["forms.proof.js"]["file"]: proof, known["forms.js"]["file"]: script}
    return {**files, CURRENT.name: json.dumps(known, indent=2).encode() + b"\n"}


if __name__ == "__main__":
    BUILDS.mkdir(exist_ok=True)
    for file_name, content in build_all().items():
        (BUILDS / file_name).write_bytes(content)
