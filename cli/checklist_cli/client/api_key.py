"""Where an API key comes from: a file, the environment, or (where a command allows it) the command line."""

import os
from pathlib import Path
from typing import Final

from ..console.command import CommandFailed

KEY_VARIABLE: Final = "CHECKLISTS_API_KEY"


def read_api_key(file: Path | None, given: str | None = None) -> str:
    """Of `file`, else `given`, else of the environment. Raises CommandFailed, which never holds the key."""
    key = given or os.environ.get(KEY_VARIABLE, "")
    if file is not None:
        try:
            key = file.read_text("ascii")
        except OSError as error:
            raise CommandFailed(f"{file} cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise CommandFailed(f"{file} holds no API key") from None
    key = key.strip()
    if not key:
        raise CommandFailed(f"no API key: give --key-file, or set {KEY_VARIABLE}")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise CommandFailed("what was given is no API key")
    return key
