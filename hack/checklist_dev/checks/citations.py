"""Checks that citations of design documents and relative links in Markdown have existing targets.

A citation names a document of docs/design/ and a section by number (contract section 5), by title (specification,
"Runs"), or by both. Documents are also cited by path (docs/settings.md).
`python -m checklist_dev.checks.citations` prints each broken citation and link, and exits with 1 if there are any.
"""

import posixpath
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Final

from checklist_dev.repository import ROOT

SOURCES: Final = frozenset({".py", ".ts", ".tsx", ".mjs", ".sh", ".md", ".toml", ""})
_DESIGN: Final = {
    "contract": "contract",
    "architecture": "architecture",
    "delivery": "delivery",
    "delivery profile": "delivery",
    "data plane": "data-plane",
    "web surfaces": "web",
    "specification": "specification",
}
_GAP: Final = r"[\s#*]+"  # citations are wrapped in comments, too
_NAME: Final = "|".join(sorted((name.replace(" ", _GAP) for name in _DESIGN), key=len, reverse=True))
_NUMBERS: Final = rf"{_GAP}sections?{_GAP}(?P<numbers>\d{{1,2}}\b(?:(?:,|{_GAP}(?:and|to)){_GAP}\d{{1,2}}\b)*)"
_TITLES: Final = rf'"[^"]+"(?:,?{_GAP}(?:and{_GAP})?"[^"]+")*'
_CITATION: Final = re.compile(
    rf'\b(?P<name>{_NAME})(?=,{_GAP}"|{_GAP}sections?{_GAP}\d)(?:{_NUMBERS})?(?:,{_GAP}(?P<titles>{_TITLES}))?',
    re.I,
)
_PATH: Final = re.compile(r"\bdocs/[\w/.-]+\.md(?:#[\w-]+)?")
_CODE: Final = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_LINK: Final = re.compile(r'\]\(([^)\s]+)\)|\b(?:src|href)="([^"]+)"')
_HEADING: Final = re.compile(r"^#{1,6} +(?:(\d+)\. +)?(.+?) *$", re.MULTILINE)
_FENCED: Final = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def sections(text: str) -> set[str]:
    """Numbers and titles of the headings of a Markdown document."""
    return {part for heading in _HEADING.findall(_FENCED.sub("", text)) for part in heading if part}


def anchors(text: str) -> set[str]:
    """Anchors of the headings, as GitHub makes them."""
    found: list[str] = []
    for number, title in _HEADING.findall(_FENCED.sub("", text)):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", f"{number}. {title}" if number else title)
        found.append(re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-"))
    return {name if not (n := found[:at].count(name)) else f"{name}-{n}" for at, name in enumerate(found)}


def dead_ends(texts: Mapping[str, str], paths: frozenset[str]) -> Iterator[str]:
    """Broken citations and links of `texts` (by path in the repository); `paths`: all files."""
    folders = {str(folder) for path in paths for folder in PurePosixPath(path).parents}
    design = {name: sections(texts.get(f"docs/design/{file}.md", "")) for name, file in _DESIGN.items()}
    for path, text in sorted(texts.items()):
        for cited in _CITATION.finditer(text):
            known = design[re.sub(_GAP, " ", cited["name"].lower())]
            if cited["name"].lower() == "delivery" and not cited["numbers"]:
                continue  # an ordinary word before a quotation
            wanted = re.findall(r"\d+", cited["numbers"] or "")
            wanted += [re.sub(_GAP, " ", title) for title in re.findall('"([^"]+)"', cited["titles"] or "")]
            yield from (f"{path}: {cited['name']} has no section {one!r}" for one in wanted if one not in known)
        links = [one or other for one, other in _LINK.findall(_CODE.sub("", text))] if path.endswith(".md") else []
        targets = [*links, *(f"/{target}" for target in _PATH.findall(_LINK.sub("", text) if links else text))]
        for target in targets:
            file, _, anchor = target.partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            joined = posixpath.join("/", posixpath.dirname(path), file) if file else f"/{path}"
            leads_to = posixpath.normpath(joined).lstrip("/") or "."
            if leads_to not in paths | folders or (anchor and anchor not in anchors(texts.get(leads_to, ""))):
                yield f"{path}: broken link {target.lstrip('/')}"


def tracked() -> frozenset[str]:
    """Paths of files that git tracks or would add."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return frozenset(path for path in listed.splitlines() if (ROOT / path).is_file())


def texts_of(paths: frozenset[str]) -> dict[str, str]:
    """The text of sources and documents among `paths`."""
    return {path: (ROOT / path).read_text("utf-8") for path in paths if PurePosixPath(path).suffix in SOURCES}


def main() -> int:
    paths = tracked()
    found = list(dead_ends(texts_of(paths), paths))
    print(*found, sep="\n", file=sys.stderr, end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
