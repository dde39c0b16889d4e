"""A committed file that a program writes: the command that writes it, or says whether it is current."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path


def main_of(module: str, description: str | None, file: Path, written: Callable[[], str]) -> int:
    """The `main` of `python -m <module>`. Exit code 1: with `--check`, the file is not what `written` gives now."""
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=description)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when the file is not current")
    arguments = parser.parse_args()
    text = written()
    if arguments.check:
        current = file.exists() and file.read_text(encoding="utf-8") == text
        if not current:
            print(f"{file} is not current: python -m {module}", file=sys.stderr)
        return 0 if current else 1
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    print(f"{file}: {len(text.splitlines())} lines")
    return 0
