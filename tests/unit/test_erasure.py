"""Whose runs are whose; parts without some of their lines; and receipts that cannot be made or changed by others."""

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.test_archive_format import FOLDER, NOW, START, a_run, run_id

from checklist_cli.erasure.person import Person, Why, normalised
from checklist_cli.erasure.receipt import KIND, is_about, is_genuine, signed, subject_digest
from checklist_crds.archive import Damaged, EncodedPart, Record, RemovedDeliveries, encode_part, lines_of
from checklist_crds.archive.erasures import ErasedRun, Erasures, NotedErasure, erasure_key
from checklist_crds.archive.part import manifest_of, part_without
from checklist_crds.archive.store import ArchiveStore
from checklist_crds.json_text import to_json
from checklist_crds.sealing import ServerKeys

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


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"spec": {"executorRef": "Ada@example.com"}}, Why.REFERENCE),
        ({"spec": {"executorRef": "Emp 17"}}, Why.REFERENCE),
        ({"status": {"assignedTo": MEMBER}}, Why.MEMBER),
        ({"status": {"identity": {"userId": MEMBER}}}, Why.MEMBER),
        ({"status": {"answers": {"s-1": {"value": "1", "by": MEMBER}}}}, Why.MEMBER),
    ],
)
def test_what_makes_a_run_somebodys(changes: Json, why: Why) -> None:
    person = Person(emails=frozenset({ADA}), members=frozenset({MEMBER}), references=frozenset({normalised("emp 17")}))
    assert person.why(the_run(**changes)) == {why}
    assert not Person(emails=frozenset({"bob@example.com"})).why(the_run(**changes))
    mentioned = {"answers": {"s-1": {"value": json.dumps(f"ask {ADA}")}}}
    assert not person.why(the_run(status=mentioned))


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        ({"identity": {"mode": "external", "email": "ADA@example.com"}}, Why.EMAIL),
        ({"identity": {"mode": "member", "user_id": MEMBER}}, Why.MEMBER),
        ({"executor_ref": ADA}, Why.REFERENCE),
        ({"data": {"by": MEMBER}}, Why.MEMBER),
        ({"data": {"answers": {"s-1": {"by": MEMBER}}}}, Why.MEMBER),
    ],
)
def test_a_delivery_tells_whose_it_is_when_its_run_is_gone(payload: Json, why: Why) -> None:
    person = Person(emails=frozenset({ADA}), members=frozenset({MEMBER}))
    assert person.why_delivered(delivery(1, payload)) == {why}
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


def test_most_lines_of_others_are_passed_over() -> None:
    person = Person(emails=frozenset({ADA}), members=frozenset({MEMBER}))
    for other in ("bob@example.com", "Käthe@example.com"):
        assert not person.may_be_in(to_json({"run": {"status": {"identity": {"name": "Käthe", "email": other}}}}))
    assert person.may_be_in(to_json(by_email("ADA@example.com")))


def part_of(*numbers: int) -> EncodedPart:
    records = [Record.of(a_run(number), None, ()) for number in numbers]
    return encode_part(FOLDER, records, written_at=NOW, written_by="operator-0")


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


async def test_an_archiver_knows_the_erased_run_from_a_later_one_of_the_same_id(tmp_path: Any) -> None:
    store = ArchiveStore.open(tmp_path.as_uri())
    organization = FOLDER.organization
    erased = ErasedRun(uids=("uid-1",), at=START + timedelta(hours=1))
    note = NotedErasure(runs={run_id(1): erased, run_id(2): erased}).model_dump_json()
    await store.put(erasure_key(organization, "erasure-1"), note.encode())

    def record(number: int, uid: str) -> Record:
        run = a_run(number)
        run["metadata"]["uid"] = uid
        return Record.of(run, None, ())

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
