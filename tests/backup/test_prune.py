"""`checklist-dispatch backup --prune`: old snapshots go, and exactly the copies that no other one refers to."""

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from checklist_cli.backup import layout, turns
from checklist_cli.backup.copying import Copied
from checklist_cli.backup.format import BackupManifest, CopiesEntry, OrganizationEntry, encode, to_line
from checklist_cli.backup.pruning import Prune, Pruned
from checklist_cli.backup.pruning_rule import Found, Rule, plan
from checklist_cli.backup.reading import copies_of
from checklist_cli.backup.store import BackupStore
from checklist_cli.console.progress import Progress
from checklist_cli.program import main
from checklist_crds.times import utc_now

from .stepping import Killed, die, stepping

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
ACME, OTHER = "org-00000000-0000-4000-8000-000000000001", "org-00000000-0000-4000-8000-000000000002"
SILENT = Progress(lambda _: None)


def called(days_ago: float, *, now: datetime = NOW) -> str:
    return layout.new_name(now - timedelta(days=days_ago), "0123abcd")


def manifest_of(name: str, *, only: Iterable[str] = (), with_copies: bool = True, **members: Any) -> BackupManifest:
    organizations = tuple(OrganizationEntry(name=one, id=one) for one in list(only) or [ACME, OTHER])
    times = {"started_at": NOW, "finished_at": NOW}
    versions = {"written_by": "a test", "cluster_version": "1", "crd_version": 1}
    content = {"namespaces": (), "is_partial": bool(only), "counts": {}, "parts": ()} | members
    copies = CopiesEntry() if with_copies else None
    return BackupManifest(name=name, organizations=organizations, copies=copies, **times, **versions, **content)


@dataclass
class Place:
    """A backup's URL."""

    folder: Path
    store: BackupStore

    @property
    def url(self) -> str:
        return self.folder.as_uri()

    async def snapshot(self, name: str, photos: Iterable[str]) -> None:
        copies = []
        for photo in photos:
            key, content = f"photos/r-1/{photo}", photo.encode() * 100
            await self.store.put(key, content)
            copies.append(Copied(key, len(content), sha256(content).hexdigest()))
        await self.finish(name, copies)

    async def finish(self, name: str, copies: Sequence[Copied]) -> None:
        part = encode(layout.copies_key(name), "", "copies", [to_line(asdict(one)) for one in copies])
        await self.store.put(part.entry.key, part.content)
        await self.store.put(layout.manifest_key(name), manifest_of(name, parts=(part.entry,)).encoded())

    def files(self) -> dict[str, bytes]:
        found = sorted(file for file in self.folder.rglob("*") if file.is_file())
        return {str(file.relative_to(self.folder)): file.read_bytes() for file in found}

    def photos(self) -> set[str]:
        return {key.rpartition("/")[2] for key in self.files() if key.startswith("photos/")}

    async def copies(self, name: str) -> list[str]:
        return [one.key for one in await copies_of(self.store, await self.store.snapshot(name))]

    async def prune(self, rule: Rule, store: BackupStore | None = None, **options: Any) -> Pruned:
        wanted = {"progress": SILENT, "clock": lambda: NOW} | options
        return await Prune(store or self.store, rule, **wanted).run()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    folder = tmp_path / "backup"
    return Place(folder, BackupStore.open(folder.as_uri()))


FULL = [manifest_of(called(days)) for days in (40, 30, 20, 10, 1)]


@pytest.mark.parametrize(
    ("rule", "stay"),
    [
        (Rule(newest=2), [10, 1]),
        (Rule(newest=9), [40, 30, 20, 10, 1]),
        (Rule(days=25), [20, 10, 1]),
        (Rule(days=0), [1]),
        (Rule(newest=1, days=15), [10, 1]),
        (Rule(newest=4, days=15), [30, 20, 10, 1]),
    ],
)
def test_a_snapshot_stays_when_one_part_of_the_rule_says_so_and_the_newest_always(rule: Rule, stay: list[int]) -> None:
    made = plan(Found(FULL), rule, NOW)
    assert made.stay == tuple(called(days) for days in stay)
    assert set(made.stay) | set(made.go) == {one.name for one in FULL} and not set(made.stay) & set(made.go)


def test_what_holds_less_never_takes_the_place_of_what_holds_everything() -> None:
    everything = manifest_of(called(9))
    without_photos = [manifest_of(called(days), with_copies=False) for days in (8, 4)]
    acme = [manifest_of(called(days), only=[ACME]) for days in (7, 3)]
    other = manifest_of(called(6), only=[OTHER])
    found = Found([everything, *without_photos, *acme, other])
    assert set(plan(found, Rule(newest=1), NOW).go) == {without_photos[0].name, acme[0].name}
    # Within no days at all: what is erased is to go wherever it is, but one that brings a lost cluster back stays.
    assert plan(found, Rule(days=0), NOW).stay == (everything.name,)
    assert plan(Found([*acme, other]), Rule(days=0), NOW).stay == (acme[1].name,)


def test_a_damaged_one_is_none_of_those_that_are_counted_and_goes_after_all_that_stay() -> None:
    found = Found(FULL[1:4], damaged=[called(35), called(15)])
    made = plan(found, Rule(newest=2), NOW)
    assert made.go == (called(35), called(30))
    assert made.stay == (called(20), called(15), called(10))


async def program(*arguments: str) -> int:
    return await asyncio.to_thread(main, ["backup", *arguments])


async def test_unreferenced_copies_are_pruned(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    names = [called(days, now=datetime.now(UTC)) for days in (30, 20, 1)]
    for name, photos in zip(names, ("abc", "bcd", "cde"), strict=True):
        await place.snapshot(name, photos)
    await place.store.put("photos/r-1/of-a-backup-that-was-killed", b"x")
    before = place.files()
    assert await program("--prune", place.url, "--keep", "2", "--dry-run") == 0
    assert place.files() == before
    printed = capsys.readouterr().out
    assert f"{names[0]}  would be removed" in printed and "copies: 2 would be removed (101 bytes)" in printed
    assert await program("--prune", place.url, "--keep", "2") == 0
    assert place.photos() == set("bcde")
    assert "copies: 2 removed (101 bytes)" in capsys.readouterr().out
    assert await place.store.names() == names[1:]
    for name in names[1:]:
        assert await program("--verify", place.url, "--snapshot", name) == 0
    assert await program("--prune", place.url, "--keep-days", "7") == 0
    assert place.photos() == set("cde")
    assert {key.split("/")[0] for key in place.files()} == {"photos", "snapshots"}
    assert await place.store.names() == names[2:]


async def test_nothing_is_removed_by_a_mistake(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    await place.store.put("photos/r-1/a", b"a")
    for arguments, says in (
        (["--prune", place.url], "--prune needs --keep N"),
        (["--list", place.url, "--keep", "3"], "are for --prune"),
        (["--prune", place.url, "--keep", "3"], "no complete snapshot"),
    ):
        assert await program(*arguments) == 2
        assert says in capsys.readouterr().err
    assert place.photos() == {"a"}
    assert await program("--list", place.url) == 0
    assert f"no snapshots in {place.url}" in capsys.readouterr().err


async def test_a_backup_under_way_keeps_all_copies_and_an_abandoned_one_is_removed(place: Place) -> None:
    await place.snapshot(called(9), "ab")
    await place.snapshot(called(5), "bc")
    abandoned, young = called(3), called(1.9)
    for name in (abandoned, young):
        await place.store.put(f"{layout.PREFIX}/{name}/acme/localaccounts-00001.jsonl.zst", b"x")
    pruned = await place.prune(Rule(newest=1))
    assert pruned.plan.go == (called(9), abandoned)
    assert young in (pruned.why_copies_stay or "") and pruned.is_deferred
    assert place.photos() == set("abc") and await place.store.names() == [called(5), young]
    pruned = await place.prune(Rule(newest=1), clock=lambda: NOW + timedelta(days=1))
    assert pruned.why_copies_stay is None and not pruned.is_deferred
    assert place.photos() == set("bc") and await place.store.names() == [called(5)]


@pytest.mark.parametrize("more", [(), ("--allow-deferred",)])
async def test_a_timer_does_not_fail_since_a_backup_was_stopped(place: Place, more: tuple[str, ...]) -> None:
    now = utc_now()
    await place.snapshot(called(9, now=now), "ab")
    await place.snapshot(called(5, now=now), "bc")
    stopped = f"{layout.PREFIX}/{called(0.1, now=now)}/acme/localaccounts-00001.jsonl.zst"
    await place.store.put(stopped, b"x")
    assert await program("--prune", place.url, "--keep", "1", *more) == (0 if more else 1)
    assert place.photos() == set("abc")
    # That a snapshot is damaged does not pass with time.
    await place.store.delete([stopped])
    await place.store.put(layout.manifest_key(called(3, now=now)), b"{}")
    await place.snapshot(called(0, now=now), "c")
    assert await program("--prune", place.url, "--keep", "9", *more) == 1


async def test_where_a_snapshot_that_stays_cannot_be_read_no_copy_goes(place: Place) -> None:
    for days in (9, 5, 1):
        await place.snapshot(called(days), f"a{days}")
    await place.store.put(layout.manifest_key(called(5)), b"{}")
    pruned = await place.prune(Rule(newest=9))
    assert called(5) in (pruned.why_copies_stay or "")
    assert place.photos() == set("a951")
    # Its list of copies is damaged, its manifest is not.
    await place.snapshot(called(5), "a5")
    await place.store.put(layout.copies_key(called(5)), b"x")
    pruned = await place.prune(Rule(newest=2))
    assert layout.copies_key(called(5)) in (pruned.why_copies_stay or "")
    assert place.photos() == set("a951")
    pruned = await place.prune(Rule(newest=1))
    assert pruned.why_copies_stay is None and place.photos() == set("a1")


async def test_a_prune_that_is_killed_at_any_step_leaves_what_is_whole_and_the_next_one_ends_it(place: Place) -> None:
    for at in range(1, 1000):
        for days, photos in ((9, "ab"), (1.5, "bc"), (1, "cd")):  # one that is young goes, too
            await place.snapshot(called(days), photos)
        store, came = stepping(place.url, at, die, from_then_on=True)
        with suppress(Killed):
            await place.prune(Rule(newest=1), store)
        if not came():
            break
        for name in await place.store.names():
            if await place.store.get(layout.manifest_key(name)) is not None:
                assert set(await place.copies(name)) <= place.files().keys(), (at, name)
        assert (await place.store.snapshot(None)).name == called(1)
        pruned = await place.prune(Rule(newest=1))
        assert pruned.why_copies_stay is None
        assert await place.store.names() == [called(1)] and place.photos() == set("cd"), at
    assert at > 20


async def test_a_backup_started_during_a_prune_is_complete(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes what it finds as copied, and its manifest comes last, as the real one does."""
    monkeypatch.setattr(turns, "_RENEWED_EVERY_S", 0.0)
    name, waited, counted_on = layout.new_name(NOW, "fedcba98"), 0, 0
    paused, task = asyncio.Event(), asyncio.create_task(asyncio.sleep(0))

    async def sleep(_: float) -> None:
        paused.set()
        await asyncio.sleep(0.001)

    async def back_up() -> None:
        await turns.begin_copying(place.store, name, SILENT, sleep=sleep)
        found = [one async for one in place.store.listed("photos")]
        await place.finish(name, [Copied(one.key, one.size, "0" * 64) for one in found])

    async def begin() -> None:
        """Returns when it waits for the prune, or has ended."""
        nonlocal task
        task = asyncio.create_task(back_up())
        waiting = asyncio.create_task(paused.wait())
        await asyncio.wait([waiting, task], return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()

    for at in range(1, 1000):
        await place.snapshot(called(9), "ab")
        await place.snapshot(called(1), "c")
        paused.clear()
        store, came = stepping(place.url, at, begin)
        await place.prune(Rule(newest=1), store)
        if not came():
            break
        await asyncio.wait_for(task, 10)
        waited += paused.is_set()
        there = await place.copies(name)
        counted_on += len(there) == 3
        assert set(there) <= place.files().keys(), at
        for name in await place.store.names():
            await place.store.delete([one.key async for one in place.store.listed(f"{layout.PREFIX}/{name}")])
    # All three were met: a prune that had to stop, one that was waited for, and one that was over.
    assert waited and 3 < counted_on < at - 2


async def test_a_dead_prune_does_not_block_backups(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    await place.store.put(layout.pruning_key("0"), b"1")
    lines: list[str] = []
    now = 0.0
    monkeypatch.setattr(turns, "time", SimpleNamespace(monotonic=lambda: now))

    async def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds
        if now < 600 and now % 100 == 0:  # it lives for ten minutes, and shows it now and then
            await place.store.put(layout.pruning_key("0"), str(now).encode())

    await turns.begin_copying(place.store, called(0), Progress(lines.append), sleep=sleep)
    assert 650 < now < 1000 and len(lines) == 1
    assert not [key for key in place.files() if key.startswith(layout.PRUNING)]
