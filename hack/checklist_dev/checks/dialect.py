"""Limits the use of words of the project's former dialect: the count per top-level folder may only fall.

dialect.json lists the words and the allowed counts; `.` stands for files in the root. Parts of names count like words
in comments and documents.
`python -m checklist_dev.checks.dialect` compares; `--write` lowers the allowed counts; `--show WORD` prints uses.
"""

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any, Final

from checklist_dev.checks.citations import texts_of, tracked
from checklist_dev.repository import ROOT

DATA: Final = ROOT / "hack" / "checklist_dev" / "checks" / "dialect.json"
_PART: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")


def uses(text: str, words: Collection[str]) -> Counter[str]:
    """Count uses of each of `words` in `text`, alone or as a part of a name."""
    parts = f" {'  '.join(_PART.findall(text))} ".lower()
    return Counter({word: count for word in words if (count := parts.count(f" {word.replace(' ', '  ')} "))})


def by_folder(texts: Mapping[str, str], words: Collection[str]) -> dict[str, Counter[str]]:
    """Uses in each top-level folder of `texts` (by path)."""
    found: dict[str, Counter[str]] = {}
    for path, text in texts.items():
        found.setdefault(path.split("/")[0] if "/" in path else ".", Counter()).update(uses(text, words))
    return found


def risen(found: Mapping[str, Counter[str]], allowed: Mapping[str, int]) -> list[str]:
    """A line for each folder with more uses than allowed."""
    return [
        f"{folder}: {words.total()} words of the dialect, {allowed.get(folder, 0)} are allowed: "
        + ", ".join(f"{word} {count}" for word, count in words.most_common())
        for folder, words in sorted(found.items())
        if words.total() > allowed.get(folder, 0)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m checklist_dev.checks.dialect", description=__doc__)
    parser.add_argument("--write", action="store_true", help="lower the allowed counts to the current ones")
    parser.add_argument("--show", metavar="WORD", help="print where a word is used")
    options = parser.parse_args()
    data: dict[str, Any] = json.loads(DATA.read_text("utf-8"))
    texts = texts_of(tracked())
    if options.show:
        for path, text in sorted(texts.items()):
            for number, line in enumerate(text.splitlines(), 1):
                if uses(line, [options.show]):
                    print(f"{path}:{number}: {line.strip()}")
        return 0
    found = by_folder(texts, data["words"])
    wrong = risen(found, data["allowed"])
    print(*wrong, sep="\n", file=sys.stderr, end="\n" if wrong else "")
    if options.write and not wrong:
        data["allowed"] = {folder: found[folder].total() for folder in sorted(found) if found[folder]}
        DATA.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
