"""`python -m checklist_cli` is `checklist-dispatch`."""

from typing import NoReturn

from checklist_crds.platform.process_end import end_process

from .program import main

__all__ = ["main", "run"]


def run() -> NoReturn:
    """Run `main` and end the process with its exit status."""
    end_process(main())


if __name__ == "__main__":
    run()
