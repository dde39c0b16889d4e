"""`kubectl checklists`: the kubectl plugin, its commands and its completion."""

import argparse
import sys
from collections.abc import Sequence

from .console.command import Command
from .console.program import parser_of, run_command
from .kubectl import answers, dispatch, link, replay, tree, wait
from .kubectl.completion import complete

COMMANDS: tuple[Command, ...] = (
    dispatch.COMMAND,
    link.COMMAND,
    wait.COMMAND,
    answers.COMMAND,
    replay.COMMAND,
    tree.COMMAND,
)


def parser() -> argparse.ArgumentParser:
    return parser_of(
        COMMANDS,
        prog="kubectl-checklists",
        description="Dispatch, await and read checklists with your kubeconfig; no API key is needed. "
        "Show all options: `kubectl checklists COMMAND --help`.",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status, as `run_command` does."""
    return run_command(parser(), arguments)


def completion(arguments: Sequence[str] | None = None) -> int:
    """Print the candidates for the last word, as kubectl asks for them."""
    print(complete(parser(), sys.argv[1:] if arguments is None else arguments))
    return 0
