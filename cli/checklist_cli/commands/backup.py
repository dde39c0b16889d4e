"""`checklist-dispatch backup`: backs up an installation to an object store."""

import asyncio
import os
import socket
import sys
from argparse import ArgumentParser, BooleanOptionalAction, Namespace
from typing import TYPE_CHECKING

from ..console.cluster import add_kubeconfig_option, connected
from ..console.command import Command, CommandFailed, ExitStatus
from ..console.values import from_one, number_to

if TYPE_CHECKING:
    from ..backup.store import BackupStore
    from ..backup.taking import Stores

PHOTO_STORE = "CHECKLISTS_PHOTO_STORE"
ARCHIVE_STORE = "CHECKLISTS_ARCHIVE_STORE"


def _configure(parser: ArgumentParser) -> None:
    actions = parser.add_mutually_exclusive_group(required=True)
    actions.add_argument("--to", metavar="URL", help="take a backup, to file:///..., s3://..., gs://... or az://...")
    actions.add_argument(
        "--verify", metavar="URL", help="read a backup and compare it with its digests, without changes"
    )
    actions.add_argument("--list", metavar="URL", dest="listed", help="list the snapshots")
    actions.add_argument(
        "--prune",
        metavar="URL",
        help="remove old snapshots, and photos and archive parts that no other snapshot refers to",
    )
    parser.add_argument(
        "--organization",
        metavar="NAME",
        action="append",
        default=[],
        help="only this organization, by object name or id; can be repeated",
    )
    parser.add_argument(
        "--photos", action=BooleanOptionalAction, default=True, help="also copy photos and the archive (default)"
    )
    parser.add_argument(
        "--include-secrets",
        action="store_true",
        help="also include the webhook secrets that runs reference by secretRef, sealed with the sealing key",
    )
    parser.add_argument("--snapshot", metavar="NAME", help="with --verify: this one (default: the newest)")
    parser.add_argument("--quick", action="store_true", help="with --verify: only compare sizes of photos and archive")
    rule = parser.add_argument_group("which snapshots --prune keeps (one reason is enough)")
    rule.add_argument("--keep", metavar="N", type=from_one(), help="the N newest")
    rule.add_argument(
        "--keep-days", metavar="D", type=number_to(36_500, "number of days"), help="those of the last D days"
    )
    rule.add_argument("--dry-run", action="store_true", help="print what would be removed, and remove nothing")
    rule.add_argument(
        "--allow-deferred",
        action="store_true",
        help="exit with 0 if copies stay only because a backup is running or was stopped: for scheduled jobs",
    )
    add_cluster_options(parser)


def add_cluster_options(parser: ArgumentParser) -> None:
    add_kubeconfig_option(parser)
    parser.add_argument(
        "--photo-store", metavar="URL", help=f"where the installation keeps photos (default: {PHOTO_STORE})"
    )
    parser.add_argument(
        "--archive-store",
        metavar="URL",
        help=f"where it keeps the archive (default: {ARCHIVE_STORE}, else the photos')",
    )


def _run(options: Namespace) -> ExitStatus:
    with_rule = options.keep is not None or options.keep_days is not None
    if not options.prune and (with_rule or options.dry_run or options.allow_deferred):
        raise CommandFailed("--keep, --keep-days, --dry-run and --allow-deferred are for --prune")
    if options.prune:
        if not with_rule:
            raise CommandFailed("--prune needs --keep N, --keep-days D, or both")
        return asyncio.run(_prune(options))
    if options.verify:
        return asyncio.run(_verify(options))
    return asyncio.run(_list(options) if options.listed else _take(options))


async def _take(options: Namespace) -> ExitStatus:
    from checklist_crds.platform.object_store import StoreUnavailable

    from ..backup.keys import sealing_keys, server_keys
    from ..backup.taking import Backup

    store = open_backup(options.to)
    stores = stores_of(options, target=options.to) if options.photos else None
    keys, ring = server_keys(), sealing_keys()
    async with connected(
        options.kubeconfig,
        answer_within_s=60.0,
        advice="; the snapshot is unfinished; photos already copied are kept",
        also=(StoreUnavailable,),
    ) as client:
        taken = await Backup(
            client,
            store,
            stores=stores,
            server_keys=keys,
            ring=ring,
            written_by=f"checklist-dispatch on {socket.gethostname()}",
            only=options.organization,
            include_secrets=options.include_secrets,
        ).take()
    objects = ", ".join(f"{count:,} {plural}" for plural, count in taken.counts.items())
    print(f"snapshot {taken.name}: {objects}")
    if taken.copies is not None:
        print(
            f"copies: {taken.copies.photos:,} objects of photos, {taken.copies.archive:,} of the archive, "
            f"{taken.copies.bytes:,} bytes"
        )
    if not taken.server_key:
        print("the server key is not set: a restore cannot compare it (CHECKLISTS_SERVER_KEY)")
    print(f"keep with your secrets, they are not in it: the server key; sealing keys {_list_of(taken.sealing_keys)}")
    if taken.secrets_needed:
        named = ", ".join(f"{one.namespace}/{one.name}" for one in taken.secrets_needed[:10])
        print(f"webhook secrets that runs need and that are not in it: {len(taken.secrets_needed)} ({named}, ...)")
    return ExitStatus.YES


async def _verify(options: Namespace) -> ExitStatus:
    from checklist_crds.platform.object_store import StoreUnavailable

    from ..backup.format import DamagedBackup
    from ..backup.reading import verify
    from ..console.progress import Progress

    store, progress = open_backup(options.verify), Progress()
    try:
        manifest = await store.snapshot(options.snapshot)
        verdict = await verify(
            store,
            manifest,
            with_copies=not options.quick,
            report=lambda now: progress.now_and_then(lambda: f"{now.objects:,} objects, {now.copies:,} copies read"),
        )
    except DamagedBackup as error:
        print(f"damaged: {error}")
        return ExitStatus.NO
    except StoreUnavailable as error:
        raise CommandFailed(str(error)) from None
    for damage in verdict.damages:
        print(f"damaged: {damage}")
    print(
        f"snapshot {manifest.name}: {verdict.objects:,} objects, {verdict.copies:,} copies, "
        f"{len(verdict.damages)} damaged"
    )
    return ExitStatus.NO if verdict.damages else ExitStatus.YES


async def _list(options: Namespace) -> ExitStatus:
    from checklist_crds.platform.object_store import StoreUnavailable

    from ..backup.format import DamagedBackup

    store = open_backup(options.listed)
    try:
        names = await store.names()
        if not names:
            print(f"no snapshots in {options.listed}", file=sys.stderr)
        for name in names:
            try:
                manifest = await store.snapshot(name)
            except DamagedBackup as error:
                print(f"{name}  not usable: {error}")
                continue
            whole = "some organizations" if manifest.is_partial else "everything"
            print(
                f"{name}  {whole}, {sum(manifest.counts.values()):,} objects, finished {manifest.finished_at:%F %T} UTC"
            )
    except StoreUnavailable as error:
        raise CommandFailed(str(error)) from None
    return ExitStatus.YES


async def _prune(options: Namespace) -> ExitStatus:
    from checklist_crds.platform.object_store import StoreUnavailable

    from ..backup.format import DamagedBackup
    from ..backup.pruning import Prune
    from ..backup.pruning_rule import Rule

    rule = Rule(options.keep, options.keep_days)
    try:
        pruned = await Prune(open_backup(options.prune), rule, dry_run=options.dry_run).run()
    except DamagedBackup as error:
        raise CommandFailed(str(error)) from None
    except StoreUnavailable as error:
        raise CommandFailed(f"{error}; run it again to resume") from None
    for name in pruned.plan.stay:
        print(f"{name}  kept{', damaged' if name in pruned.damaged else ''}")
    verb = "would be removed" if options.dry_run else "removed"
    for name in pruned.plan.go:
        print(f"{name}  {verb}")
    print(f"copies: {pruned.copies:,} {verb} ({pruned.bytes:,} bytes)")
    if pruned.why_copies_stay:
        print(f"unneeded copies are kept for now: {pruned.why_copies_stay}; run it again later")
        return ExitStatus.YES if pruned.is_deferred and options.allow_deferred else ExitStatus.NO
    print(f"copies kept: {pruned.copies_stay:,}")
    return ExitStatus.YES


def open_backup(url: str) -> "BackupStore":
    """Raises CommandFailed."""
    from checklist_crds.platform.object_store import InvalidStore

    from ..backup.store import BackupStore

    try:
        return BackupStore.open(url)
    except InvalidStore as error:
        raise CommandFailed(f"{url}: {error}") from None


def stores_of(options: Namespace, *, target: str) -> "Stores":
    """The installation's stores. Raises CommandFailed if none is configured, or one is at the backup's own URL."""
    from ..backup.taking import Stores

    photos = options.photo_store or os.environ.get(PHOTO_STORE, "").strip()
    archive = options.archive_store or os.environ.get(ARCHIVE_STORE, "").strip() or photos
    if not photos:
        raise CommandFailed(f"the photo store is not set: set {PHOTO_STORE}, or give --photo-store or --no-photos")
    if target.rstrip("/") in (photos.rstrip("/"), archive.rstrip("/")):
        raise CommandFailed("a backup must not be in the same place as the photos or the archive")
    return Stores(open_backup(photos), open_backup(archive))


def _list_of(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "(none is used)"


COMMAND = Command(
    name="backup",
    summary="take a backup of an installation, verify one, or remove old ones",
    description="""\
Back up an installation: all objects at one moment, photos and archive.

The service can keep running. All objects are read at one resource version of the cluster, so each organization is
consistent; then photos and archive parts that the URL lacks are copied. The manifest is written last, after all parts
were read back: an interrupted backup does not count, and running it again copies no photo twice. Sessions are left
out: people sign in again. Format: docs/backup.md.

The server key and the sealing keys are NOT in it: keep them with your other secrets. The server key's fingerprint is,
so that a restore can compare it (CHECKLISTS_SERVER_KEY, if it is set).

  checklist-dispatch backup --to s3://backups/checklists
  checklist-dispatch backup --verify s3://backups/checklists
  checklist-dispatch backup --prune s3://backups/checklists --keep-days 30

--prune also removes data from the backups that was erased in the service: first old snapshots, then the photos and
archive parts that no other snapshot refers to. The newest complete snapshot is always kept.

Exit status: 0 done, or complete; 1 damaged, or unneeded copies had to be kept; 2 an error.
""",
    configure=_configure,
    run=_run,
)
