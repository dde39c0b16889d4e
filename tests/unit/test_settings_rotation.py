"""Files of secrets and certificates that change while a program runs."""

import base64
import logging
import os
from pathlib import Path

import pytest
from tests.mounted_secret import MountedSecret

from checklist_api.settings import Settings as ApiSettings
from checklist_crds.sealing import KeyRing, ServerKeys, executor_token, is_executor_token
from checklist_crds.settings.held import Certificates, SecretText
from checklist_crds.settings.rotation import HeldFile, Rotation
from checklist_dev.certificates import credentials_in
from checklist_operator.settings import Settings as OperatorSettings

OLD, NEW = (base64.b64encode(bytes([number]) * 32).decode() for number in (1, 2))


class Watched:
    """One file, as a program looks after it."""

    def __init__(self, file: Path, value: object, first: str) -> None:
        self.states: list[tuple[str, bool]] = []
        held = HeldFile.of("CHECKLISTS_X_FILE", file, first, value)  # type: ignore[arg-type]
        self.rotation = Rotation([held], lambda name, stale: self.states.append((name, stale)))

    def look(self, times: int = 2) -> None:
        for _ in range(times):
            self.rotation.look()


@pytest.mark.parametrize("program", [ApiSettings, OperatorSettings])
def test_keys_of_a_secret_that_kubernetes_swaps_are_used_by_both_programs(
    program: type[ApiSettings] | type[OperatorSettings], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mounted = MountedSecret(tmp_path / "keys", **{"server-key": OLD, "sealing-keys": f"k1:{OLD}"})
    environment = {
        "CHECKLISTS_NAMESPACE": "n",
        "CHECKLISTS_SERVER_KEY_FILE": str(mounted.path("server-key")),
        "CHECKLISTS_SEALING_KEYS_FILE": str(mounted.path("sealing-keys")),
    }
    settings = program.from_environment(environment)
    rotation = Rotation(settings.files)
    keys, ring = settings.server_key, settings.sealing
    assert keys is not None
    old_link, old_seal = executor_token(keys, "r-1"), ring.seal("a secret of a webhook", owner="n/r-1")
    mounted.change(**{"server-key": f"{NEW}, {OLD}\n", "sealing-keys": f"k2:{NEW},k1:{OLD}\n"})
    with caplog.at_level(logging.INFO):
        rotation.look()
        rotation.look()
    assert (keys.current, ring.current) == (base64.b64decode(NEW), "k2")
    assert executor_token(keys, "r-1") != old_link
    assert is_executor_token(keys, "r-1", old_link)
    assert ring.open(old_seal, owner="n/r-1") == "a secret of a webhook"
    assert ring.seal("x", owner="n/r-1").startswith("k2:")
    told = [record.getMessage() for record in caplog.records]
    assert sorted(told) == [
        f"settings.file_taken: CHECKLISTS_{name}_FILE has changed and is in use"
        for name in ("SEALING_KEYS", "SERVER_KEY")
    ]


def test_a_file_that_cannot_be_used_is_told_once_and_changes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (file := tmp_path / "keys").write_text(OLD)
    keys = ServerKeys.parse(OLD)
    watched = Watched(file, keys, OLD)
    file.write_text("not a key, but perhaps a secret")
    watched.look(5)
    assert keys.current == base64.b64decode(OLD)
    assert watched.states == [("CHECKLISTS_X_FILE", False), ("CHECKLISTS_X_FILE", True)]
    [line] = [record.getMessage() for record in caplog.records]
    assert "CHECKLISTS_X_FILE" in line
    assert "perhaps a secret" not in line
    assert len(watched.rotation.notes) == 1

    file.write_text(NEW)
    watched.look()
    assert keys.current == base64.b64decode(NEW)
    assert watched.states[-1] == ("CHECKLISTS_X_FILE", False)
    assert watched.rotation.notes == []


def test_a_file_that_is_away_for_good_is_told_and_the_value_stays(tmp_path: Path) -> None:
    (file := tmp_path / "password").write_text("first")
    password = SecretText("first")
    watched = Watched(file, password, "first")
    file.unlink()
    watched.look(1)
    assert watched.rotation.notes == []  # it may be on its way
    watched.look(1)
    assert len(watched.rotation.notes) == 1
    file.write_text("first")
    watched.look(1)
    assert watched.rotation.notes == []
    assert password.current == "first"


def test_half_of_a_file_that_is_being_written_is_never_taken(tmp_path: Path) -> None:
    whole = f"k2:{NEW},k1:{OLD}"
    (file := tmp_path / "keys").write_text(f"k1:{OLD}")
    ring = KeyRing.parse(f"k1:{OLD}")
    watched = Watched(file, ring, f"k1:{OLD}")
    half = f"k2:{NEW}"  # a good ring of its own, without the key that opens what is there
    file.write_text(half)
    watched.look(1)
    assert ring.ids == ("k1",)
    file.write_text(whole)
    watched.look(1)
    assert ring.ids == ("k1",)
    watched.look(1)
    assert ring.ids == ("k2", "k1")


def test_a_file_that_only_was_touched_or_replaced_by_the_same_is_no_change(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (file := tmp_path / "keys").write_text(OLD)
    watched = Watched(file, ServerKeys.parse(OLD), OLD)
    (other := tmp_path / "other").write_text(OLD)
    os.utime(other, (1, 1))
    other.rename(file)
    with caplog.at_level(logging.INFO):
        watched.look(3)
    assert caplog.records == []


def test_certificates_that_change_are_another_context_and_the_old_authority_is_trusted_no_more(tmp_path: Path) -> None:
    first, second = (credentials_in(tmp_path / name).authority.read_text() for name in ("first", "second"))
    trusted = Certificates(first)
    before = trusted.context()
    assert trusted.context() is before
    (file := tmp_path / "ca.crt").write_text(first)
    watched = Watched(file, trusted, first)
    file.write_text(f"# Zertifikate für alle\n{second}")
    watched.look()
    after = trusted.context()
    assert after is not before
    assert before.get_ca_certs(binary_form=True) != after.get_ca_certs(binary_form=True)
    assert len(after.get_ca_certs()) == 1

    file.write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    watched.look()
    assert trusted.context() is after
    assert len(watched.rotation.notes) == 1
