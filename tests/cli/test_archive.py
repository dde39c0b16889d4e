"""`checklist-dispatch archive`: a whole archive is said to be whole, and every kind of damage is named."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.unit.archive.test_format import FOLDER, START, a_run, run_id

from checklist_cli.program import main
from checklist_crds.archive import EncodedPart, Folder, Record, encode_part

OTHER = Folder("org-00000000-0000-4000-8000-000000000002", "2026-12")


def a_record(number: int, *, version: int = 7, created_at: datetime = START) -> Record:
    run = a_run(number, version=version)
    run["spec"]["createdAt"] = created_at.isoformat()
    return Record.of(run, None, [])


class Archive:
    """Files, as they are in a store's folder, some hours old."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def put(self, key: str, content: bytes) -> Path:
        file = self.root / key
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        long_ago = (datetime.now(UTC) - timedelta(hours=3)).timestamp()
        os.utime(file, (long_ago, long_ago))
        return file

    def keep(self, *records: Record, folder: Folder = FOLDER) -> EncodedPart:
        part = encode_part(folder, records, written_at=START, written_by="operator-0")
        self.put(part.place.key, part.content)
        self.put(part.place.manifest_key, part.manifest.encoded())
        return part

    def verify(self, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, dict[str, Any]]:
        status = main(["archive", "verify", "--json", "--store", self.root.as_uri(), *options])
        return status, json.loads(capsys.readouterr().out)


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    made = Archive(tmp_path / "store")
    made.keep(*(a_record(number) for number in range(3)))
    made.keep(a_record(3, created_at=datetime(2026, 12, 1, tzinfo=UTC)), folder=OTHER)
    return made


def test_a_whole_archive_is_verified_and_listed(archive: Archive, capsys: pytest.CaptureFixture[str]) -> None:
    status, found = archive.verify(capsys)
    assert (status, found["problems"]) == (0, [])
    assert (found["organizations"], found["parts"], found["runs"]) == (2, 2, 4)
    assert archive.verify(capsys, "--organization", OTHER.organization)[1]["runs"] == 1
    assert main(["archive", "verify", "--store", archive.root.as_uri()]) == 0
    assert "the archive is complete" in capsys.readouterr().out
    assert main(["archive", "list", "--json", "--store", archive.root.as_uri()]) == 0
    folders = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    listed = [(one["organization"], one["month"], one["runs"]) for one in folders]
    assert listed == [(FOLDER.organization, "2026-11", 3), (OTHER.organization, "2026-12", 1)]


def test_duplicate_runs_and_open_parts_are_no_damage(archive: Archive, capsys: pytest.CaptureFixture[str]) -> None:
    archive.keep(a_record(1, version=9))
    status, found = archive.verify(capsys)
    assert (status, found["runs"], found["runs_in_several_parts"]) == (0, 4, 1)
    assert main(["archive", "cat", run_id(1), "--store", archive.root.as_uri()]) == 0
    assert json.loads(capsys.readouterr().out)["run"]["metadata"]["resourceVersion"] == "9"
    part = encode_part(FOLDER, [a_record(14)], written_at=START, written_by="operator-0")
    archive.put(part.place.key, part.content)
    archive.put(part.place.mark_key, b"{}")
    status, found = archive.verify(capsys)
    assert (status, found["unfinished_parts"]) == (0, 1)
    # No damage either, but an error: a run that is not there, and a store that is none.
    assert main(["archive", "cat", run_id(99), "--store", archive.root.as_uri()]) == 1
    assert main(["archive", "verify", "--store", "ftp://nowhere"]) == 2
    assert "must begin with" in capsys.readouterr().err
    assert main(["archive", "verify", "--store", (archive.root.parent / "other").as_uri()]) == 0
    assert "there is no archive" in capsys.readouterr().out


def test_every_kind_of_damage_is_named(archive: Archive, capsys: pytest.CaptureFixture[str]) -> None:
    flipped, missing, torn = (archive.keep(a_record(number)) for number in (11, 12, 13))
    content = flipped.content
    archive.put(flipped.place.key, content[:-2] + bytes([content[-2] ^ 1]) + content[-1:])
    (archive.root / missing.place.key).unlink()
    archive.put(torn.place.manifest_key, torn.manifest.encoded()[:-20])
    lonely = encode_part(FOLDER, [a_record(14)], written_at=START, written_by="operator-0")
    archive.put(lonely.place.key, lonely.content)
    archive.keep(a_record(15, created_at=datetime(2026, 10, 31, tzinfo=UTC)))
    archive.put(f"{FOLDER.key}/notes.txt", b"?")
    status, found = archive.verify(capsys)
    problems = found["problems"]
    assert (status, len(problems)) == (1, 6)
    for key, why in (
        (flipped.place.key, "digest"),
        (missing.place.key, "is missing"),
        (torn.place.manifest_key, ""),
        (lonely.place.key, "has no manifest"),
        ("run r-00000000-0000-4000-8000-000000000015", "another month"),
        ("notes.txt", "not an object of the archive"),
    ):
        assert any(key in one and why in one for one in problems), key
