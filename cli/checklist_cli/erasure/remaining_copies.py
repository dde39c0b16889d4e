"""Lists for the receipt where the person's data may remain, and what to do about it."""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Final

from checklist_crds.photos.keys import PREFIX as PHOTOS
from checklist_crds.resources.kinds import RUN
from checklist_crds.resources.run_id import run_id_of

from ..backup.archived import archived_runs
from ..backup.copying import run_of_photo
from ..backup.format import BackupManifest, DamagedBackup
from ..backup.reading import copies_of, objects_of
from ..backup.store import BackupStore

NOT_SEARCHED: Final = (
    "free text: answers, notes and signatures' names that mention the person in runs of others",
    "names of people: only whole addresses, references, members and run ids are compared",
    "archives and photo stores other than the two of this command",
)


async def snapshots_with(
    store: BackupStore, organization: str, runs: Collection[str]
) -> tuple[dict[str, int], list[str]]:
    """The number of these runs in each snapshot of a backup that has any, and unreadable snapshots. `organization`:
    public id. Raises StoreUnavailable."""
    found, unreadable = dict[str, int](), list[str]()
    for name in await store.names():
        try:
            held = await _runs_in(store, await store.snapshot(name), organization)
        except DamagedBackup as error:
            unreadable.append(f"{name}: {error}")
            continue
        if count := len(held & set(runs)):
            found[name] = count
    return found, unreadable


async def _runs_in(store: BackupStore, manifest: BackupManifest, organization: str) -> set[str]:
    """Ids of all runs of which the snapshot contains anything."""
    folders = {organization}
    held = {run_id async for body in objects_of(store, manifest, RUN, folders) if (run_id := run_id_of(body))}
    held |= await archived_runs(store, manifest, folders)
    copies = await copies_of(store, manifest)
    return held | {run for one in copies if one.key.startswith(PHOTOS + "/") and (run := run_of_photo(one.key))}


def remaining_copies(
    hosts: Collection[str], backups: Mapping[str, tuple[Mapping[str, int], Collection[str]]]
) -> list[dict[str, str]]:
    """Places outside the erasure that may have data. `backups`: the result of `snapshots_with` by URL."""
    places = []
    for url, (snapshots, unreadable) in backups.items():
        if snapshots:
            names = ", ".join(f"{name} ({count} runs)" for name, count in snapshots.items())
            what = f"still in it until these snapshots are removed (backup --prune): {names}"
        else:
            what = "no snapshot has any of these runs"
        places.append({"where": f"backup {url}", "what": what})
        places += [{"where": f"backup {url}", "what": f"cannot be read: {one}"} for one in unreadable]
    if not backups:
        what = "not searched (--backup URL); older snapshots have these runs until they are deleted"
        places.append({"where": "backups", "what": what})
    if hosts:
        what = "have received events of these runs: " + ", ".join(sorted(hosts))
        places.append({"where": "webhook receivers", "what": what})
    return [
        *places,
        {"where": "etcd", "what": "older revisions until it is compacted, and its file until it is defragmented"},
        {"where": "versions in a bucket", "what": "if the bucket keeps versions of objects, until they expire"},
        {
            "where": "API processes",
            "what": "caches expire within 30 seconds; unnamed temporary files are removed with the process",
        },
        {"where": "running uploads", "what": "a photo that is being uploaded is deleted after a day"},
        {"where": "logs", "what": "ids of runs, never answers or addresses, as long as logs are kept"},
    ]


def stays(audit: Counter[str], account: Collection[str], *, until: str) -> list[dict[str, str]]:
    """The person's data in the installation that this erasure keeps."""
    kept = []
    if audit:
        counts = ", ".join(f"{count} {what}" for what, count in audit.items())
        why = f"the audit log is append-only; {until}"
        kept.append({"what": f"audit entries that name the person: {counts}", "why": why})
    if account:
        why = "they may need it to work; --with-account removes it as well"
        kept.append({"what": ", ".join(account), "why": why})
    return kept
