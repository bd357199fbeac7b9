"""
Builds the files of `/forms.js` from their sources: `make forms.js`, or `python -m forms_app.script.builds`.

esbuild joins and minifies; terser takes off another 2 %. A build is named by its hash and stays in `builds/`
permanently, so that pages that pin it with SRI work after an upgrade. `current.json` lists the builds that are served
at the stable URLs.
"""

import base64
import hashlib
import json
import subprocess
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "static" / "forms_app"
BUILDS = Path(__file__).parents[1] / "builds"
CURRENT = BUILDS / "current.json"
TOOLS = Path("build/node/node_modules/.bin")  # of requirements/node
TARGET = "es2020"  # Safari 14, Chrome 80, Firefox 74
ESBUILD_OPTIONS = ("--minify", f"--target={TARGET}", "--legal-comments=none", "--charset=utf8")
TERSER_OPTIONS = ("--compress", "passes=3,ecma=2020", "--mangle", "--format", "ecma=2020")
HASH_DIGITS = 12
LOADED: dict[str, tuple[str, ...]] = {  # name of a source -> those that it loads when a page needs them
    "forms.proof.js": (),
    "forms.debug.js": (),
    "forms.files.js": (),
    "forms.more.js": ("forms.proof.js", "forms.debug.js", "forms.files.js"),
    "forms.js": ("forms.more.js",),
}


def minify(source: Path, *, tools: Path = TOOLS, **constants: str) -> bytes:
    """Return a minified source with the modules that it imports, each name in `constants` replaced by its value."""
    defined = [f"--define:{name}={json.dumps(value)}" for name, value in constants.items()]
    is_module = "\nexport " in source.read_text()  # the others are scripts, which import nothing
    joined, understood = (["--bundle", "--format=esm"], ["--module"]) if is_module else ([], [])
    text = _run(tools / "esbuild", str(source), *joined, *ESBUILD_OPTIONS, *defined)
    return _run(tools / "terser", *TERSER_OPTIONS, *understood, text=text)


def _run(program: Path, *arguments: str, text: bytes = b"") -> bytes:
    return subprocess.run(  # noqa: S603 - our own command line
        [str(program), *arguments], check=True, input=text, stdout=subprocess.PIPE
    ).stdout


def describe(name: str, text: bytes) -> dict[str, str]:
    """Return `{file, integrity}` of a build of `name`, such as `forms.js`."""
    stem, digits = name.removesuffix(".js"), hashlib.sha256(text).hexdigest()[:HASH_DIGITS]
    return {"file": f"{stem}.{digits}.js", "integrity": integrity(text, "sha384")}


def integrity(text: bytes, algorithm: str) -> str:
    return f"{algorithm}-{base64.b64encode(hashlib.new(algorithm, text).digest()).decode()}"


def build_all(*, tools: Path = TOOLS) -> dict[str, bytes]:
    """Return every file of a build, including `current.json`, by its name in `builds/`."""
    texts: dict[str, bytes] = {}
    known: dict[str, dict[str, str]] = {}
    for name, loaded in LOADED.items():  # in this order: a file has the names and hashes of those that it loads
        constants: dict[str, str] = {}
        for other in loaded:
            prefix = other.split(".")[1].upper()
            # The shorter hash: forms.js has no byte to spare.
            constants |= {
                f"{prefix}_FILE": known[other]["file"],
                f"{prefix}_INTEGRITY": integrity(texts[other], "sha256"),
            }
        texts[name] = minify(SOURCES / name, tools=tools, **constants)
        known[name] = describe(name, texts[name])
    files = {known[name]["file"]: text for name, text in texts.items()}
    return {**files, CURRENT.name: json.dumps(known, indent=2).encode() + b"\n"}


if __name__ == "__main__":
    BUILDS.mkdir(exist_ok=True)
    for file_name, content in build_all().items():
        (BUILDS / file_name).write_bytes(content)
