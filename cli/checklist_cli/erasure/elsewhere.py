"""What of the person is where an erasure does not reach: told in the receipt, with what is to be done about it."""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Final

from checklist_crds.photos.keys import PREFIX as PHOTOS
from checklist_crds.resources.kinds import RUN

from ..backup.archived import archived_runs
from ..backup.copying import run_of_photo
from ..backup.format import BackupManifest, DamagedBackup
from ..backup.reading import copies_of, objects_of
from ..backup.store import BackupStore

NOT_SEARCHED: Final = (
    "free text: answers, notes and signatures' names that mention the person in runs of others",
    "people's names alone: only addresses, references, members and ids of runs are compared, each as a whole",
    "archives and photo stores other than the two that the command was told of",
)


async def snapshots_with(
    store: BackupStore, organization: str, runs: Collection[str]
) -> tuple[dict[str, int], list[str]]:
    """How many of these runs each snapshot of a backup still has, the snapshots without any left out; and snapshots
    that cannot be read. `organization`: its public id. Raises StoreUnavailable."""
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
    """Ids of all runs of which the snapshot has anything."""
    folders = {organization}
    held = {str(body["metadata"]["name"]) async for body in objects_of(store, manifest, RUN, folders)}
    held |= await archived_runs(store, manifest, folders)
    copies = await copies_of(store, manifest)
    return held | {run for one in copies if one.key.startswith(PHOTOS + "/") and (run := run_of_photo(one.key))}


def elsewhere(
    hosts: Collection[str], backups: Mapping[str, tuple[Mapping[str, int], Collection[str]]]
) -> list[dict[str, str]]:
    """`backups`: of each URL what `snapshots_with` has found."""
    told = []
    for url, (snapshots, unreadable) in backups.items():
        if snapshots:
            names = ", ".join(f"{name} ({count} runs)" for name, count in snapshots.items())
            told.append(
                {
                    "where": f"backup {url}",
                    "what": f"still in it until these snapshots are removed (backup --prune): {names}",
                }
            )
        else:
            told.append({"where": f"backup {url}", "what": "no snapshot has any of these runs"})
        told += [{"where": f"backup {url}", "what": f"cannot be read: {one}"} for one in unreadable]
    if not backups:
        told.append(
            {"where": "backups", "what": "not looked at (--backup URL); older snapshots have these runs until deleted"}
        )
    if hosts:
        what = "have received events of these runs and keep them as they please: " + ", ".join(sorted(hosts))
        told.append({"where": "webhook receivers", "what": what})
    return [
        *told,
        {"where": "etcd", "what": "older revisions until it is compacted, and its file until it is defragmented"},
        {"where": "versions in a bucket", "what": "where the store keeps versions of objects, until they expire"},
        {
            "where": "API processes",
            "what": "notice what is gone within 30 seconds; their unnamed working files go with the process",
        },
        {"where": "uploads under way", "what": "a photo that was just being sent is swept away after a day"},
        {"where": "logs", "what": "ids of runs, never answers or addresses, as long as logs are kept"},
    ]


def stays(audit: Counter[str], account: Collection[str], *, until: str) -> list[dict[str, str]]:
    """What is in the installation, is the person's, and is not erased by this."""
    told = []
    if audit:
        counts = ", ".join(f"{count} {what}" for what, count in audit.items())
        why = f"the record of who did what is append-only; {until}"
        told.append({"what": f"audit entries that name the person: {counts}", "why": why})
    if account:
        why = "they may be needed to work; --with-account takes them away as well"
        told.append({"what": ", ".join(account), "why": why})
    return told
