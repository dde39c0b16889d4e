"""The keys of an installation: the server key by its fingerprint, the sealing keys to open secrets."""

import hashlib
import hmac
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from checklist_crds.secrets.sealing import KeyRing, ServerKeys
from checklist_crds.settings.names import SUFFIX

from ..console.command import CommandFailed

SERVER_KEY: Final = "CHECKLISTS_SERVER_KEY"
SEALING_KEYS: Final = "CHECKLISTS_SEALING_KEYS"
_FINGERPRINT: Final = b"checklist-dispatch/fingerprint of the server key in a backup"


def server_keys(environment: Mapping[str, str] = os.environ) -> ServerKeys | None:
    """None when none is set. Raises CommandFailed."""
    text = _text(environment, SERVER_KEY)
    try:
        return None if text is None else ServerKeys.parse(text)
    except ValueError as error:
        raise CommandFailed(f"{SERVER_KEY} {error}") from None


def sealing_keys(environment: Mapping[str, str] = os.environ) -> KeyRing | None:
    """None when none are set. Raises CommandFailed."""
    text = _text(environment, SEALING_KEYS)
    try:
        return None if text is None else KeyRing.parse(text)
    except ValueError as error:
        raise CommandFailed(f"{SEALING_KEYS}: {error}") from None


def fingerprints(keys: ServerKeys | None) -> tuple[str, ...]:
    """A one-way fingerprint of each key, the signing key first."""
    if keys is None:
        return ()
    return tuple(hmac.new(key, _FINGERPRINT, hashlib.sha256).hexdigest()[:32] for key in keys.all)


def _text(environment: Mapping[str, str], name: str) -> str | None:
    """The value of the variable, or the content of the file that `NAME_FILE` names."""
    if file := environment.get(name + SUFFIX, "").strip():
        try:
            return Path(file).read_text("utf-8").strip()
        except OSError as error:
            raise CommandFailed(f"{file} cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise CommandFailed(f"{file}: not a text file") from None
    return environment.get(name, "").strip() or None
