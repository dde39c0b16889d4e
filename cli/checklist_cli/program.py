"""`checklist-dispatch`: runs the command and returns its exit status."""

import argparse
from collections.abc import Sequence

from .commands import (
    answers,
    archive,
    backup,
    bootstrap,
    dispatch,
    doctor,
    erase,
    export,
    generate,
    link,
    listen,
    mcp,
    ready,
    reseal,
    restore,
    sign_in_link,
    verify,
    wait,
)
from .console.command import Command
from .console.program import parser_of, run_command

COMMANDS: tuple[Command, ...] = (
    generate.COMMAND,
    dispatch.COMMAND,
    link.COMMAND,
    wait.COMMAND,
    answers.COMMAND,
    mcp.COMMAND,
    export.COMMAND,
    listen.COMMAND,
    verify.COMMAND,
    reseal.COMMAND,
    sign_in_link.COMMAND,
    bootstrap.COMMAND,
    ready.COMMAND,
    doctor.COMMAND,
    archive.COMMAND,
    backup.COMMAND,
    restore.COMMAND,
    erase.COMMAND,
)


def parser() -> argparse.ArgumentParser:
    return parser_of(
        COMMANDS,
        prog="checklist-dispatch",
        description="Command line of Checklist Dispatch. Show all options: `checklist-dispatch COMMAND --help`.",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status, as `run_command` does."""
    return run_command(parser(), arguments)
