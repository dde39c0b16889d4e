"""Runs a command of a program: its parser, its exit status, and errors as one line."""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version

from .command import Command, CommandFailed, ExitStatus

DISTRIBUTION = "checklist-dispatch"


def parser_of(commands: Sequence[Command], *, prog: str, description: str) -> argparse.ArgumentParser:
    """The parser of all commands; `command` in its result is the chosen Command."""
    parser = argparse.ArgumentParser(prog=prog, description=description)
    parser.add_argument("--version", action="version", version=f"{prog} {version(DISTRIBUTION)}")
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


def run_command(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> int:
    """Run a command; exit status 0 yes or done, 1 no, 2 an error (wrong usage, too), 3 to 5 a run's state, 130
    interrupted."""
    chosen = parser.parse_args(arguments)
    command: Command = chosen.command
    try:
        status = command.run(chosen)
        sys.stdout.flush()
    except CommandFailed as failure:
        print(f"{parser.prog} {command.name}: {failure}", file=sys.stderr)
        return ExitStatus.UNUSABLE
    except KeyboardInterrupt:
        return ExitStatus.INTERRUPTED
    except BrokenPipeError:
        # The reader ended early (`... | head`). Flushing the remaining output must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitStatus.UNUSABLE
    return status
