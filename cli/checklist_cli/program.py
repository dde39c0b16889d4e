"""`checklist-dispatch`: runs the command and returns its exit status."""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version

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
    ready,
    reseal,
    restore,
    sign_in_link,
    verify,
    wait,
)
from .console.command import Command, CommandFailed, ExitStatus

COMMANDS: tuple[Command, ...] = (
    generate.COMMAND,
    dispatch.COMMAND,
    link.COMMAND,
    wait.COMMAND,
    answers.COMMAND,
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


def parser_of(commands: Sequence[Command]) -> argparse.ArgumentParser:
    """The parser of all commands; `command` in its result is the chosen Command."""
    parser = argparse.ArgumentParser(
        prog="checklist-dispatch",
        description="Command line of Checklist Dispatch. Show all options: `checklist-dispatch COMMAND --help`.",
    )
    parser.add_argument("--version", action="version", version=f"checklist-dispatch {version('checklist-dispatch')}")
    choices = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in commands:
        one = choices.add_parser(
            command.name,
            help=command.summary,
            description=command.description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,  # otherwise --key could mean --key-file, and a key be taken for a file name
        )
        command.configure(one)
        one.set_defaults(command=command)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; exit status 0 yes or done, 1 no, 2 an error (wrong usage, too), 3 to 5 a run's state, 130
    interrupted."""
    chosen = parser_of(COMMANDS).parse_args(arguments)
    command: Command = chosen.command
    try:
        status = command.run(chosen)
        sys.stdout.flush()
    except CommandFailed as failure:
        print(f"checklist-dispatch {command.name}: {failure}", file=sys.stderr)
        return ExitStatus.UNUSABLE
    except KeyboardInterrupt:
        return ExitStatus.INTERRUPTED
    except BrokenPipeError:
        # The reader ended early (`... | head`). Flushing the remaining output must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitStatus.UNUSABLE
    return status
