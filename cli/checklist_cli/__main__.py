"""`python -m checklist_cli` is `checklist-dispatch`."""

import sys

from .program import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
