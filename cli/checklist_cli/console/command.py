"""What a command is, and how one fails."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum


class ExitStatus(IntEnum):
    """For the shell. `NO` is an answer (not genuine, something left to do), `UNUSABLE` is none; others are of runs."""

    YES = 0
    NO = 1
    UNUSABLE = 2
    CANCELLED = 3
    EXPIRED = 4
    TIMEOUT = 5
    INTERRUPTED = 130


class CommandFailed(Exception):
    """The command cannot do what it was asked; the message is one line for a person and holds no secret."""


@dataclass(frozen=True, slots=True)
class Command:
    """One word after `checklist-dispatch`. `run` returns the exit status, or raises CommandFailed."""

    name: str
    summary: str
    description: str
    configure: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], ExitStatus]
