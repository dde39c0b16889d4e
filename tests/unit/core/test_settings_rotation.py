"""Files of secrets and certificates that change while a program runs."""

import base64
import logging
import os
from pathlib import Path

import pytest

from checklist_crds.secrets.sealing import KeyRing, ServerKeys
from checklist_crds.settings.renewable import Certificates, SecretText
from checklist_crds.settings.rotation import HeldFile, Rotation
from checklist_dev.local.certificates import credentials_in

OLD, NEW = (base64.b64encode(bytes([number]) * 32).decode() for number in (1, 2))


class Watched:
    """A file with this text, as a program looks after it."""

    def __init__(self, file: Path, value: object, text: str) -> None:
        file.write_text(text)
        self.file = file
        self.states: list[tuple[str, bool]] = []
        held = HeldFile.of("CHECKLISTS_X_FILE", file, text, value)  # type: ignore[arg-type]
        self.rotation = Rotation([held], lambda name, stale: self.states.append((name, stale)))

    def look(self, times: int = 2, *, after: str | None = None) -> None:
        """Look so often, after this text was written."""
        if after is not None:
            self.file.write_text(after)
        for _ in range(times):
            self.rotation.poll()


def test_unusable_files_are_reported_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    keys = ServerKeys.parse(OLD)
    watched = Watched(tmp_path / "keys", keys, OLD)
    watched.look(5, after="not a key, but perhaps a secret")
    assert keys.current == base64.b64decode(OLD)
    assert watched.states == [("CHECKLISTS_X_FILE", False), ("CHECKLISTS_X_FILE", True)]
    [line] = [record.getMessage() for record in caplog.records]
    assert "CHECKLISTS_X_FILE" in line
    assert "perhaps a secret" not in line
    assert len(watched.rotation.notes) == 1
    watched.look(after=NEW)
    assert keys.current == base64.b64decode(NEW)
    assert watched.states[-1] == ("CHECKLISTS_X_FILE", False)
    assert watched.rotation.notes == []
    caplog.clear()
    (other := tmp_path / "other").write_text(NEW)  # another file with the same text is no change
    os.utime(other, (1, 1))
    other.rename(watched.file)
    with caplog.at_level(logging.INFO):
        watched.look(3)
    assert caplog.records == []


def test_a_file_that_stays_away_is_reported_and_the_value_stays(tmp_path: Path) -> None:
    password = SecretText("first")
    watched = Watched(tmp_path / "password", password, "first")
    watched.file.unlink()
    watched.look(1)
    assert watched.rotation.notes == []  # it may be on its way
    watched.look(1)
    assert len(watched.rotation.notes) == 1
    watched.look(1, after="first")
    assert watched.rotation.notes == []
    assert password.current == "first"


def test_half_of_a_file_that_is_being_written_is_never_taken(tmp_path: Path) -> None:
    ring = KeyRing.parse(f"k1:{OLD}")
    watched = Watched(tmp_path / "keys", ring, f"k1:{OLD}")
    watched.look(1, after=f"k2:{NEW}")  # a good ring of its own, without the key that opens what is there
    assert ring.ids == ("k1",)
    watched.look(1, after=f"k2:{NEW},k1:{OLD}")
    assert ring.ids == ("k1",)
    watched.look(1)
    assert ring.ids == ("k2", "k1")


def test_changed_certificates_are_another_context_and_the_old_authority_is_trusted_no_more(tmp_path: Path) -> None:
    first, second = (credentials_in(tmp_path / name).authority.read_text() for name in ("first", "second"))
    trusted = Certificates(first)
    before = trusted.context()
    assert trusted.context() is before
    watched = Watched(tmp_path / "ca.crt", trusted, first)
    watched.look(after=f"# Zertifikate für alle\n{second}")
    after = trusted.context()
    assert after is not before
    assert before.get_ca_certs(binary_form=True) != after.get_ca_certs(binary_form=True)
    assert len(after.get_ca_certs()) == 1
    watched.look(after="-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    assert trusted.context() is after
    assert len(watched.rotation.notes) == 1
