"""Where an API key comes from: a file, the environment, or (where a command allows it) the command line."""

import os
from pathlib import Path
from typing import Final

from ..console.command import CommandFailed

KEY_VARIABLE: Final = "CHECKLISTS_API_KEY"


def read_api_key(file: Path | None, given: str | None = None) -> str:
    """Read the key from `file`, else `given`, else the environment. Raises CommandFailed without the key."""
    key = given or os.environ.get(KEY_VARIABLE, "")
    if file is not None:
        try:
            key = file.read_text("ascii")
        except OSError as error:
            raise CommandFailed(f"{file} cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise CommandFailed(f"{file} is not an API key") from None
    key = key.strip()
    if not key:
        raise CommandFailed(f"no API key: give --key-file, or set {KEY_VARIABLE}")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise CommandFailed("the given text is not an API key")
    return key
