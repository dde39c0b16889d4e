"""The archive's format: what is written is what is read, damage is seen, and one person can be taken out of it."""

import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from checklist_cli.erasure.person import Person, Why, normalised
from checklist_cli.erasure.receipt import KIND, is_about, is_genuine, signed, subject_digest
from checklist_cli.erasure.rewriting import PartRewriting
from checklist_cli.erasure.search_result import FoundPart
from checklist_crds.archive import (
    ArchiveReader,
    ArchiveStore,
    Damaged,
    EncodedPart,
    Folder,
    Manifest,
    PartKind,
    PartPlace,
    Record,
    RemovedDeliveries,
    encode_part,
    lines_of,
    month_of,
)
from checklist_crds.archive.erasures import ErasedRun, Erasures, NotedErasure, erasure_key
from checklist_crds.archive.layout import MANIFEST, part_name
from checklist_crds.archive.part import manifest_of, part_without, verified_records
from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.secrets.sealing import ServerKeys
from checklist_crds.times import format_timestamp
from checklist_dev.repository import ROOT
from checklist_operator.archive.archiver import Archiver
from checklist_operator.archive.writer import ArchiveWriter, ErasureFilter
from checklist_operator.runtime.metrics import Metrics

ORGANIZATION = "org-00000000-0000-4000-8000-000000000001"
FOLDER = Folder(ORGANIZATION, "2026-11")
START = datetime(2026, 11, 3, 12, 0, tzinfo=UTC)
NOW = datetime(2026, 12, 24, 18, 0, tzinfo=UTC)


def run_id(number: int) -> str:
    return f"r-00000000-0000-4000-8000-{number:012d}"


def a_run(number: int, *, version: int = 7) -> dict[str, Any]:
    metadata = {"name": run_id(number), "namespace": "main", "resourceVersion": str(version)}
    metadata |= {"creationTimestamp": "2026-11-03T12:00:00Z", "managedFields": [{"manager": "checklist-dispatch"}]}
    resolved = {"organization": "acme", "templateId": "t-1", "templateVersion": 3, "templateName": "Opening"}
    resolved |= {"revisionRef": {"name": "t-1-v3"}, "identityMode": "anonymous", "stepCount": 1, "applicableSteps": 1}
    created_at = format_timestamp(START + timedelta(minutes=number))
    photo = {"key": f"photos/{run_id(number)}/p", "contentType": "image/jpeg", "bytes": 9, "sha256": "ab"}
    photo |= {"width": 1, "height": 1}
    answer = {"value": '"line\\u2028two"', "photos": [photo], "at": "2026-11-03T12:30:00Z"}
    status = {"phase": "Completed", "settled": True, "answers": {"s-a": answer}}
    return {
        "apiVersion": "checklists.dev/v1",
        "kind": "Run",
        "metadata": metadata,
        "spec": {"createdAt": created_at, "executorRef": f"Küche {number} ☃", "resolved": resolved},
        "status": status | {"progress": {"total": 1, "answered": 1, "skipped": 0}},
    }


def a_delivery(number: int, *, version: int = 9) -> dict[str, Any]:
    return {
        "metadata": {"name": f"evt-{number}", "namespace": "main", "resourceVersion": str(version)},
        "spec": {"runRef": {"name": run_id(number)}, "ts": "2026-11-03T12:30:00.000Z"},
    }


REVISION = {"metadata": {"name": "t-1-v3", "namespace": "main"}, "spec": {"definition": {"name": "Opening"}}}


def a_record(number: int, *, version: int = 7) -> Record:
    return Record.of(a_run(number, version=version), REVISION, [a_delivery(number)] if number % 2 else [])


def encoded(*records: Record | RemovedDeliveries) -> EncodedPart:
    return encode_part(FOLDER, records, written_at=NOW, written_by="operator-0")


async def kept(store: ArchiveStore, part: EncodedPart) -> None:
    await store.put(part.place.key, part.content)
    await store.put(part.place.manifest_key, part.manifest.encoded())


@pytest.fixture
def store(tmp_path: Path) -> ArchiveStore:
    return ArchiveStore.open((tmp_path / "store").as_uri())


def test_a_line_tells_all_that_the_cluster_had_but_its_own_book_keeping() -> None:
    record = a_record(1)
    assert Record.parse(record.line()) == record
    document = json.loads(record.line())
    run = a_run(1)
    del run["metadata"]["managedFields"]
    assert (document["format"], document["run"], document["revision"]) == (1, run, REVISION)
    assert document["deliveries"] == [a_delivery(1)]
    assert document["photos"] == [{"key": f"photos/{run_id(1)}/p", "size": 9, "sha256": "ab"}]
    assert document["row"]["phase"] == "completed"
    assert document["row"]["created_at"] == (START + timedelta(minutes=1)).timestamp() * 1000
    assert (a_record(2).version, a_record(1).version, a_record(1, version=30).version) == (7, 9, 30)
    del run["spec"]["resolved"]
    with pytest.raises(ValueError, match="not admitted"):
        Record.of(run, None, [])


def test_the_same_records_make_the_same_part_in_whatever_order() -> None:
    one, other = encoded(a_record(1), a_record(2)), encoded(a_record(2), a_record(1))
    assert (one.content, one.manifest) == (other.content, other.manifest)
    assert one.place.name.startswith("20261103T120100Z-")
    assert encoded(a_record(1), a_record(2, version=8)).place != one.place
    assert encoded(a_record(1)).place != one.place


def test_places_are_read_from_keys_and_strangers_are_not() -> None:
    place = encoded(a_record(1)).place
    assert place.key == f"archive/{ORGANIZATION}/2026-11/{place.name}.jsonl.zst"
    assert {PartPlace.of_key(key) for key in (place.key, place.manifest_key, place.mark_key)} == {place}
    wrong = [place.key + "x", place.key.replace("2026-11", "2026-13"), place.key + "#1"]
    for stranger in ("photos/a/b", "archive", *wrong):
        assert PartPlace.of_key(stranger) is None, stranger
    assert month_of(datetime(2026, 12, 1, 0, 30, tzinfo=UTC).astimezone()) == "2026-12"
    for year in (1, 999, 2026):  # a run may be dispatched at Go's zero time
        at = datetime(year, 1, 2, 3, 4, 5, tzinfo=UTC)
        place = PartPlace(Folder(FOLDER.organization, month_of(at)), part_name(at, ["r-1@7"], has_runs=True))
        assert PartPlace.of_key(place.manifest_key) == place


async def test_what_was_written_is_what_is_read(store: ArchiveStore) -> None:
    records = [a_record(number) for number in range(50)]
    part = encoded(*records)
    await kept(store, part)
    assert [place async for place, _ in store.manifests()] == [part.place]
    assert (await store.organizations(), await store.months(ORGANIZATION)) == ([ORGANIZATION], ["2026-11"])
    manifest = await store.manifest(part.place)
    assert manifest == part.manifest
    reader = ArchiveReader(store)
    assert await reader.records(manifest) == records
    assert await reader.run(manifest, run_id(17)) == records[17]
    assert await reader.run(manifest, run_id(50)) is None
    parsed = records[17].parsed()
    assert (parsed.name, parsed.admitted_as.template_name) == (run_id(17), "Opening")
    parts = [encoded(a_record(2, version=version)) for version in (11, 12, 10)]
    for one in parts:
        await kept(store, one)
    manifests = [one.manifest for one in parts]
    assert await reader.newest(manifests, run_id(2)) == a_record(2, version=12)
    assert await reader.newest(manifests, run_id(3)) is None


async def test_removed_deliveries_are_parts_of_their_own(store: ArchiveStore) -> None:
    removed = RemovedDeliveries.of([a_delivery(3)])
    part = encoded(removed)
    await kept(store, part)
    assert (part.manifest.kind, part.place.has_runs) == (PartKind.DELIVERIES, False)
    reader = ArchiveReader(store)
    assert await reader.records(part.manifest) == [removed]
    assert await reader.run(part.manifest, run_id(3)) is None


async def test_damage_of_any_byte_is_seen_and_a_part_that_is_missing_is_damage(store: ArchiveStore) -> None:
    part = encoded(a_record(1), a_record(2))
    await kept(store, part)
    whole = part.content
    other_frame = zstandard.ZstdCompressor(level=1).compress(zstandard.ZstdDecompressor().decompress(whole))
    assert other_frame != whole
    with pytest.raises(Damaged, match="its digest"):
        lines_of(other_frame, part.manifest.model_copy(update={"size": len(other_frame)}))
    for damaged in (whole[:-1], whole[:40] + bytes([whole[40] ^ 1]) + whole[41:], whole + b"x", b""):
        await store.put(part.place.key, damaged)
        with pytest.raises(Damaged, match=part.place.key):
            await ArchiveReader(store).run(part.manifest, run_id(1))
    await store.delete([part.place.key])
    with pytest.raises(Damaged, match="is missing"):
        await ArchiveReader(store).records(part.manifest)
    await store.delete([part.place.manifest_key])
    assert await store.manifest(part.place) is None


def test_lines_that_are_not_what_the_manifest_says_are_damage() -> None:
    part = encoded(a_record(1), a_record(2))
    plain = zstandard.ZstdDecompressor().decompress(part.content)
    swapped = b"".join(reversed(plain.splitlines(keepends=True)))
    content = zstandard.ZstdCompressor().compress(swapped)
    digest = hashlib.sha256(content).hexdigest()
    manifest = part.manifest.model_copy(update={"sha256": digest, "size": len(content)})
    assert len(lines_of(content, manifest)) == 2
    with pytest.raises(Damaged, match="line 1"):
        list(verified_records(content, manifest))


def test_a_manifest_describes_its_own_part_only_and_can_be_rebuilt_from_it() -> None:
    part, other = encoded(a_record(1)), encoded(a_record(2))
    assert Manifest.parse(part.manifest.encoded(), part.place) == part.manifest
    with pytest.raises(Damaged, match="another part"):
        Manifest.parse(part.manifest.encoded(), other.place)
    with pytest.raises(Damaged, match="runs"):
        Manifest.parse(part.manifest.encoded().replace(b'"runs": 1', b'"runs": 2'), part.place)
    with pytest.raises(Damaged):
        Manifest.parse(b"{", part.place)
    assert manifest_of(part.content, part.place, written_at=NOW, written_by="operator-0") == part.manifest
    with pytest.raises(Damaged, match="its name"):
        manifest_of(other.content, part.place, written_at=NOW, written_by="operator-0")


async def test_a_part_can_be_read_without_the_service(store: ArchiveStore, tmp_path: Path) -> None:
    """By the line that docs/data.md gives; without its programs, by what it does: a zstd frame, a document a line."""
    part = encoded(a_record(1), a_record(2))
    await kept(store, part)
    await kept(store, encoded(RemovedDeliveries.of([a_delivery(3)])))
    (line,) = re.findall(r"^(zstdcat .*)$", (ROOT / "docs" / "data.md").read_text(), re.MULTILINE)
    rows = []
    if shutil.which("zstdcat") and shutil.which("jq"):
        printed = subprocess.run(["sh", "-c", line], cwd=tmp_path / "store", check=True, capture_output=True).stdout
        rows = [row.split("\t") for row in printed.decode().splitlines()]
    else:
        for file in sorted((tmp_path / "store").glob("archive/org-*/2026-11/*.jsonl.zst")):
            with zstandard.open(file, "rb") as opened:
                found = [json.loads(one) for one in opened.read().splitlines()]
            names = ("run_id", "phase", "executor_ref")
            rows += [[one["row"][name] for name in names] for one in found if "run" in one]
    assert rows == [[run_id(number), "completed", f"Küche {number} ☃"] for number in (1, 2)]


Json = dict[str, Any]
ADA = "ada@example.com"
MEMBER = "u-00000000-0000-4000-8000-00000000000a"
KEY, OTHER_KEY = bytes(range(32)), bytes(range(1, 33))


def the_run(number: int = 1, **changes: Any) -> Json:
    run = a_run(number)
    run["spec"] |= changes.get("spec", {})
    run["status"] = {**run.get("status", {}), **changes.get("status", {})}
    return run


def by_email(address: str) -> Json:
    return the_run(status={"identity": {"name": "Ada", "email": address}})


def delivery(number: int, payload: Json) -> Json:
    spec = {"runRef": {"name": run_id(number)}, "ts": "2026-11-03T12:00:00Z", "payload": json.dumps(payload)}
    return {"metadata": {"name": f"evt-{number}", "namespace": "main", "resourceVersion": "8"}, "spec": spec}


def test_an_address_is_compared_as_a_whole_and_without_regard_to_case() -> None:
    ada = Person(emails=frozenset({ADA}))
    for written in (ADA, "ADA@Example.COM", " ada@example.com "):
        assert ada.why(by_email(written)) == {Why.EMAIL}, written
    longer = [ADA + ".evil.test", "x" + ADA, "ada+work@example.com"]
    for other in (*longer, "ada@example", "da@example.com", ""):
        assert not ada.why(by_email(other)), other


def test_what_makes_a_run_somebodys() -> None:
    person = Person(emails=frozenset({ADA}), members=frozenset({MEMBER}), references=frozenset({normalised("emp 17")}))
    cases: list[tuple[Json, Why]] = [
        ({"spec": {"executorRef": "Ada@example.com"}}, Why.REFERENCE),
        ({"spec": {"executorRef": "Emp 17"}}, Why.REFERENCE),
        ({"status": {"assignedTo": MEMBER}}, Why.MEMBER),
        ({"status": {"identity": {"userId": MEMBER}}}, Why.MEMBER),
        ({"status": {"answers": {"s-1": {"value": "1", "by": MEMBER}}}}, Why.MEMBER),
    ]
    for changes, why in cases:
        assert person.why(the_run(**changes)) == {why}, changes
        assert not Person(emails=frozenset({"bob@example.com"})).why(the_run(**changes))
    mentioned = {"answers": {"s-1": {"value": json.dumps(f"ask {ADA}")}}}
    assert not person.why(the_run(status=mentioned))


def test_a_delivery_tells_whose_it_is_when_its_run_is_gone() -> None:
    person = Person(emails=frozenset({ADA}), members=frozenset({MEMBER}))
    cases: list[tuple[Json, Why]] = [
        ({"identity": {"mode": "external", "email": "ADA@example.com"}}, Why.EMAIL),
        ({"identity": {"mode": "member", "user_id": MEMBER}}, Why.MEMBER),
        ({"executor_ref": ADA}, Why.REFERENCE),
        ({"data": {"by": MEMBER}}, Why.MEMBER),
        ({"data": {"answers": {"s-1": {"by": MEMBER}}}}, Why.MEMBER),
    ]
    for payload, why in cases:
        assert person.why_delivered(delivery(1, payload)) == {why}, payload
    assert not person.why_delivered(delivery(1, {"data": {"value": f"{ADA} {MEMBER}"}}))
    body = delivery(1, {})
    for unreadable in ("{", "[1]", f'"{ADA}"', f'{{"identity": "{ADA}", "data": 7}}'):
        body["spec"]["payload"] = unreadable
        assert not person.why_delivered(body), unreadable


texts = st.text(min_size=1, max_size=20).filter(lambda text: text.strip() != "")


@given(text=texts, around=st.text(max_size=10), upper=st.booleans(), escaped=st.booleans())
def test_what_is_passed_over_unread_is_never_theirs(text: str, around: str, upper: bool, escaped: bool) -> None:
    """Whatever is in the address: quotes, backslashes, characters that fold to others, texts within texts."""
    written = text.upper() if upper else text
    person = Person(emails=frozenset({normalised(text)}))
    line = json.dumps({"run": {"email": written, "note": around}}, ensure_ascii=escaped).encode(errors="surrogatepass")
    nested = json.dumps({"payload": json.dumps({"email": written}, ensure_ascii=escaped)}, ensure_ascii=escaped)
    if normalised(written) in person.emails:
        assert person.may_be_in(line)
        assert person.may_be_in(nested.encode(errors="surrogatepass"))


def part_of(*numbers: int) -> EncodedPart:
    return encoded(*(Record.of(a_run(number), None, ()) for number in numbers))


def without(part: EncodedPart, *numbers: int) -> EncodedPart | None:
    names = {run_id(number) for number in numbers}
    return part_without(part.content, part.manifest, names, written_at=NOW, written_by="us")


def test_a_part_without_a_run_has_the_other_lines_byte_for_byte_and_the_name_of_their_part() -> None:
    whole = part_of(1, 2, 3)
    less = without(whole, 2)
    assert less is not None
    lines = lines_of(whole.content, whole.manifest)
    assert lines_of(less.content, less.manifest) == [lines[0], lines[2]]
    assert less.manifest.run_ids == (run_id(1), run_id(3))
    assert less.place == part_of(1, 3).place
    assert manifest_of(less.content, less.place, written_at=NOW, written_by="us") == less.manifest
    assert without(whole, 1, 2, 3) is None
    with pytest.raises(Damaged):
        part_without(part_of(1, 3).content, whole.manifest, {run_id(1)}, written_at=NOW, written_by="us")


def record(number: int, uid: str) -> Record:
    run = a_run(number)
    run["metadata"]["uid"] = uid
    return Record.of(run, None, ())


async def test_an_archiver_knows_the_erased_run_from_a_later_one_of_the_same_id(store: ArchiveStore) -> None:
    organization = FOLDER.organization
    erased = ErasedRun(uids=("uid-1",), at=START + timedelta(hours=1))
    note = NotedErasure(runs={run_id(1): erased, run_id(2): erased}).model_dump_json()
    await store.put(erasure_key(organization, "erasure-1"), note.encode())
    erasures, later = Erasures(store), delivery(2, {})
    later["spec"]["ts"] = "2026-11-04T12:00:00Z"
    lines = [record(1, "uid-1"), RemovedDeliveries.of([delivery(2, {})]), record(3, "uid-1")]
    assert await erasures.among(organization, lines, now=NOW) == {run_id(1), run_id(2)}
    again = [record(1, "uid-2"), RemovedDeliveries.of([later])]
    assert await erasures.among(organization, again, now=NOW) == set()
    assert await erasures.among("org-00000000-0000-4000-8000-000000000002", lines, now=NOW) == set()
    await store.put(erasure_key(organization, "erasure-2"), b"{}")
    await store.delete([erasure_key(organization, "erasure-1")])
    assert await erasures.among(organization, lines, now=NOW) == set()
    await store.put(erasure_key(organization, "erasure-3"), b"[")
    with pytest.raises(Damaged):
        await erasures.among(organization, lines, now=NOW)


class ErasingStore(ArchiveStore):
    """Whenever a part becomes valid, an erasure notes the next of `erased`, which it has not found in that part."""

    erased: Iterator[int] = iter(())

    async def put(self, key: str, content: bytes) -> None:
        await super().put(key, content)
        if key.endswith(MANIFEST) and (number := next(self.erased, None)) is not None:
            await note(self, number)


async def note(store: ArchiveStore, number: int) -> None:
    noted = NotedErasure(runs={run_id(number): ErasedRun(uids=("uid-1",), at=START)})
    await store.put(erasure_key(ORGANIZATION, f"erasure-{number}"), noted.model_dump_json().encode())


@pytest.fixture
def erasing(tmp_path: Path) -> ErasingStore:
    return ErasingStore.open((tmp_path / "store").as_uri())


async def keys_in(store: ArchiveStore) -> set[str]:
    return {one.key async for one in store.objects()} | {place.mark_key async for place, _ in store.unfinished()}


async def test_erasures_at_the_same_time_bring_nothing_back(erasing: ErasingStore) -> None:
    part = encoded(*[record(number, "uid-1") for number in range(1, 5)])
    await kept(erasing, part)
    erasing.erased = iter([3, 2])
    rewriting = PartRewriting(erasing, clock=lambda: NOW, writer="erase")
    plan = await rewriting.plan(FoundPart(part.manifest, {}), frozenset({run_id(1)}))
    assert plan is not None
    await rewriting.carry_out(plan)
    left = encoded(record(4, "uid-1"))
    assert await keys_in(erasing) == {left.place.key, left.place.manifest_key}
    await note(erasing, 4)
    await rewriting.remove_erased(left.place)
    await rewriting.remove_erased(left.place)
    assert await keys_in(erasing) == set()


async def test_an_archiver_writes_again_until_none_of_its_runs_is_erased(erasing: ErasingStore) -> None:
    def writer() -> ArchiveWriter:
        return ArchiveWriter(erasing, clock=lambda: NOW, writer="operator-0", leads=lambda: True)

    lines = [record(number, "uid-1") for number in range(1, 5)]
    place = (await writer().write(FOLDER, lines)).place
    await note(erasing, 1)
    erasing.erased = iter([3, 2])
    found = await ErasureFilter(erasing, writer(), clock=lambda: NOW).remove_erased(place, lines)
    left = encoded(lines[3]).place
    assert found == (left, [lines[3]], [lines[0], lines[2], lines[1]])
    assert await keys_in(erasing) == {left.key, left.manifest_key, left.mark_key}
    await note(erasing, 4)
    found = await ErasureFilter(erasing, writer(), clock=lambda: NOW).remove_erased(left, [lines[3]])
    assert found == (None, [], [lines[3]])
    assert await keys_in(erasing) == set()


async def mark(store: ArchiveStore, place: PartPlace, since: datetime) -> None:
    await store.put(place.mark_key, json.dumps({"part": place.key, "since": format_timestamp(since)}).encode())


async def test_the_mark_of_a_replacement_is_new(store: ArchiveStore) -> None:
    """The operator discards a part without a manifest if its mark is old."""
    part, left = encoded(a_record(1), a_record(2)), encoded(a_record(2))
    await kept(store, part)
    await mark(store, part.place, START)
    rewriting = PartRewriting(store, clock=lambda: NOW, writer="erase")
    plan = await rewriting.plan(FoundPart(part.manifest, {}), frozenset({run_id(1)}))
    assert plan is not None
    await rewriting.carry_out(plan)
    text = await store.get(left.place.mark_key)
    assert text is not None
    assert json.loads(text) == {"part": left.place.key, "since": format_timestamp(NOW)}
    assert await keys_in(store) == {left.place.key, left.place.manifest_key, left.place.mark_key}


async def test_an_unfinished_part_that_gets_its_manifest_meanwhile_is_not_discarded(store: ArchiveStore) -> None:
    part = encoded(a_record(1))
    await store.put(part.place.key, part.content)
    await mark(store, part.place, START)

    class Client:
        async def get(self, *_: Any) -> Json:
            await kept(store, part)
            raise KubeNotFound("gone")

    archiver = Archiver(
        cast(KubeClient, Client()),
        store,
        clock=lambda: NOW,
        writer="operator-0",
        leads=lambda: True,
        metrics=Metrics(),
        on_removed=lambda _: None,
    )
    await archiver.begin({})
    assert await ArchiveReader(store).records(part.manifest) == [a_record(1)]


def a_receipt(keys: ServerKeys) -> Json:
    subject = {"kind": "email", "digest": subject_digest(keys, FOLDER.organization, "email", ADA)}
    erased = {"runs": [{"id": run_id(1)}], "bytes": 7, "share": 0.5}
    about = {"organization": {"id": FOLDER.organization}, "subject": [subject]}
    return signed({"kind": KIND, "erased": erased} | about, keys)


def test_a_receipt_is_genuine_until_anything_in_it_is_changed_and_says_whom_it_is_about_only_to_who_knows() -> None:
    keys = ServerKeys(KEY)
    receipt = a_receipt(keys)
    assert is_genuine(receipt, keys)
    assert is_genuine(json.loads(json.dumps(receipt, indent=3, sort_keys=True)), keys)
    assert is_genuine(receipt, ServerKeys(OTHER_KEY, KEY))  # a rotation later
    assert not is_genuine(receipt, ServerKeys(OTHER_KEY))
    changes: list[Json] = [{"erased": {}}, {"more": 1}, {"hmac": "0" * 64}, {"hmac": 7}, {"hmac": "é" * 64}]
    for change in changes:
        assert not is_genuine({**receipt, **change}, keys), change
    for nothing in (None, [], "", {}, {"kind": KIND}):
        assert not is_genuine(nothing, keys)
    for about, ring, kind, value in (
        (True, keys, "email", ADA),
        (True, ServerKeys(OTHER_KEY, KEY), "email", ADA),
        (False, keys, "email", "bob@example.com"),
        (False, keys, "executor_ref", ADA),
        (False, ServerKeys(OTHER_KEY), "email", ADA),
    ):
        assert is_about(receipt, ring, kind, value) is about
    assert "ada" not in json.dumps(receipt)
