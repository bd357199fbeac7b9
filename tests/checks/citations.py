"""
Find citations that lead nowhere: `python -m tests.checks.citations [paths]`.

A citation names a document of this repository, with a number or a heading where it has one: `docs/contract.md 5.17`,
`docs/adr/0006`, `docs/running.md, "Environment"`. Documents also have links, and paths of the source in backticks.
"""

import dataclasses
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.checks.prose import prose_of
from tests.checks.sources import ROOMS, ROOT, files, relative

EXAMPLES = ROOT / "tests" / "unit" / "docs" / "test_citations.py"  # wrong citations are its data

# Documents that readers of this repository do not have.
ELSEWHERE = re.compile(r"\b(CONTRACT|SPEC|RELIABILITY|ARCHITECTURE|PRACTICES)\b")
DOCUMENT = re.compile(r"(?<![\w/.])docs/[\w/-]+\.md")
NUMBERED = re.compile(r"docs/contract\.md,? (?:sections? )?(\d+(?:\.\d+)?(?:(?:,| and|, and) \d+(?:\.\d+)?)*)")
HEADED = re.compile(r"(docs/[\w/-]+\.md), \"([^\"\n]+)\"")
RECORD = re.compile(r"docs/adr/(\d+[\w-]*)")
LINK = re.compile(r"(?<!`)\]\(([^()\s]+)\)")
CODE_ROOMS = "|".join(re.escape(room) for room in ROOMS if room != "docs")
SOURCE = re.compile(rf"`((?:{CODE_ROOMS})/[\w./-]*)`")
HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """A citation that leads nowhere, and why."""

    path: str
    line: int
    problem: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.problem}"


def slug(heading: str) -> str:
    """Return the anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@cache
def headings(path: Path) -> frozenset[str]:
    """Return the headings of a document, without the comments of its examples."""
    return frozenset(HEADING.findall(FENCE.sub("", path.read_text())))


@cache
def numbers(contract: Path) -> frozenset[str]:
    """Return the numbers of the contract's sections (`5`) and promises (`5.17`)."""
    text = contract.read_text()
    sections = re.findall(r"^## (\d+)\. ", text, re.MULTILINE)
    return frozenset(sections + re.findall(r"^\*\*(\d+\.\d+) ", text, re.MULTILINE))


def _cited_numbers(text: str) -> Iterator[tuple[int, str]]:
    known = numbers(ROOT / "docs" / "contract.md")
    for match in NUMBERED.finditer(text):
        for number in re.findall(r"\d+(?:\.\d+)?", match[1]):
            if number not in known:
                yield match.start(), f"docs/contract.md has no {number}"


def _cited_documents(text: str) -> Iterator[tuple[int, str]]:
    for match in DOCUMENT.finditer(text):
        if not (ROOT / match[0]).is_file():
            yield match.start(), f"there is no {match[0]}"
    for match in HEADED.finditer(text):
        document = ROOT / match[1]
        if document.is_file() and match[2] not in headings(document):
            yield match.start(), f'{match[1]} has no heading "{match[2]}"'
    for match in RECORD.finditer(text):
        if not any(ROOT.glob(f"docs/adr/{match[1]}*.md")):
            yield match.start(), f"there is no docs/adr/{match[1]}"


def _links(path: Path, text: str) -> Iterator[tuple[int, str]]:
    for match in LINK.finditer(text):
        target, _, anchor = match[1].partition("#")
        if ":" in target:  # another site
            continue
        document = (path.parent / target).resolve() if target else path
        if not document.exists():
            yield match.start(), f"the link {match[1]} leads nowhere"
        elif anchor and document.suffix == ".md" and anchor not in map(slug, headings(document)):
            yield match.start(), f"{relative(document)} has no heading for #{anchor}"
    for match in SOURCE.finditer(text):
        if not (ROOT / match[1]).exists():
            yield match.start(), f"there is no {match[1]}"


def findings(path: Path, text: str) -> Iterator[Finding]:
    """Yield what leads nowhere in one file, by kinds of citation."""
    found = [*_cited_numbers(text), *_cited_documents(text)]
    if path.suffix == ".md":
        found += _links(path, text)
    for place, problem in found:
        yield Finding(relative(path), text.count("\n", 0, place) + 1, problem)
    prose = prose_of(path, text)
    for match in ELSEWHERE.finditer(prose):
        line = prose.count("\n", 0, match.start()) + 1
        yield Finding(relative(path), line, f"no reader has {match[1]}: cite docs/contract.md or docs/adr")


def _uncited() -> Iterator[Finding]:
    records = {path.name[:4]: path for path in sorted((ROOT / "docs" / "adr").glob("0*.md"))}
    others = (path for path in files() if path.parent.name != "adr" and path.name != "CHANGELOG.md")
    cited = {number for path in others for number in re.findall(r"adr/(\d{4})", path.read_text())}
    for number in sorted(records.keys() - cited):
        yield Finding(relative(records[number]), 1, "nothing cites this record: delete it, or cite it at its subject")


def all_findings(paths: list[Path] | None = None) -> list[Finding]:
    """Return the findings in the files at or below `paths`; by default in the whole project, uncited records too."""
    found = [finding for path in files(paths) if path != EXAMPLES for finding in findings(path, path.read_text())]
    return found if paths else [*found, *_uncited()]


def main(arguments: list[str]) -> int:
    """Print every finding; return 1 if there is one."""
    found = all_findings([Path(argument) for argument in arguments])
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
