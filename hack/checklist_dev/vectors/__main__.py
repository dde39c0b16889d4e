"""Write `tests/vectors/executor.json`, or say with `--check` whether it is what the Python core says now."""

import argparse
import sys

from .vectors import FILE, written


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m checklist_dev.vectors", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when the file is not current")
    arguments = parser.parse_args()
    text = written()
    if arguments.check:
        current = FILE.exists() and FILE.read_text(encoding="utf-8") == text
        if not current:
            print(f"{FILE} is not current: python -m checklist_dev.vectors", file=sys.stderr)
        return 0 if current else 1
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(text, encoding="utf-8")
    print(f"{FILE}: {text.count(chr(10)) - 4} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
