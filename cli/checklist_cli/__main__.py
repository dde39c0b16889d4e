"""`python -m checklist_cli` is `checklist-dispatch`; the other functions are the kubectl plugin."""

from typing import NoReturn

from checklist_crds.platform.process_end import end_process

from .program import main

__all__ = ["main", "run", "run_plugin", "run_plugin_completion"]


def run() -> NoReturn:
    """Run `main` and end the process with its exit status."""
    end_process(main())


def run_plugin() -> NoReturn:
    """Run `kubectl-checklists`."""
    from .plugin import main as plugin_main

    end_process(plugin_main())


def run_plugin_completion() -> NoReturn:
    """Run `kubectl_complete-checklists`."""
    from .plugin import completion

    end_process(completion())


if __name__ == "__main__":
    run()
