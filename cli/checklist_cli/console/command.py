"""The definition of a command, its exit statuses and its failure."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum


class ExitStatus(IntEnum):
    """`NO` is a negative result (not genuine, something left), `UNUSABLE` an error; 3 to 5 are states of runs."""

    YES = 0
    NO = 1
    UNUSABLE = 2
    CANCELLED = 3
    EXPIRED = 4
    TIMEOUT = 5
    INTERRUPTED = 130


class CommandFailed(Exception):
    """The command cannot do its work. The message is one line for people, without secrets."""


@dataclass(frozen=True, slots=True)
class Command:
    """A subcommand of `checklist-dispatch`. `run` returns the exit status, or raises CommandFailed."""

    name: str
    summary: str
    description: str
    configure: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], ExitStatus]
