"""Reads a webhook secret from a file, the environment, or the command line."""

import os
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Final

from ..console.command import CommandFailed

VARIABLE: Final = "CHECKLISTS_WEBHOOK_SECRET"
SHORTEST: Final = 16
LONGEST: Final = 256
"""Characters (contract section 10)."""


def add_secret_options(parser: ArgumentParser) -> None:
    """Add --secret-file, --secret-env and --secret, which exclude each other."""
    group = parser.add_argument_group("the secret", "as given in webhook.secret at dispatch; one of")
    sources = group.add_mutually_exclusive_group()
    sources.add_argument("--secret-file", type=Path, metavar="FILE", help="read it from a file; - is standard input")
    sources.add_argument("--secret-env", metavar="NAME", help=f"read it from this variable (default: {VARIABLE})")
    sources.add_argument("--secret", metavar="TEXT", help="the secret itself, which other users of the machine can see")


def read_secret(options: Namespace) -> bytes:
    """The secret in UTF-8, without one trailing line end of a file. Raises CommandFailed."""
    text, source = _read(options)
    if not SHORTEST <= len(text) <= LONGEST:
        raise CommandFailed(f"the secret of {source} has {len(text)} characters; secrets have {SHORTEST} to {LONGEST}")
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise CommandFailed(f"the secret of {source} is not UTF-8") from None


def _read(options: Namespace) -> tuple[str, str]:
    if options.secret is not None:
        return options.secret, "--secret"
    if options.secret_file is not None:
        return _from_file(options.secret_file)
    name = options.secret_env or VARIABLE
    text = os.environ.get(name)
    if text is None:
        raise CommandFailed(f"no secret: give --secret-file, or set {name}")
    return text, name


def _from_file(path: Path) -> tuple[str, str]:
    try:
        raw = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
        text = raw.decode()
    except OSError as error:
        raise CommandFailed(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise CommandFailed(f"{path} is not UTF-8") from None
    return text.removesuffix("\n").removesuffix("\r"), str(path)
