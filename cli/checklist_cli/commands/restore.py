"""`checklist-dispatch restore`: restores a backup into a cluster."""

import asyncio
import logging
from argparse import ArgumentParser, BooleanOptionalAction, Namespace
from typing import TYPE_CHECKING

from ..console.command import Command, CommandFailed, ExitStatus
from ..console.values import from_one
from .backup import add_cluster_options, open_backup, stores_of

if TYPE_CHECKING:
    from ..backup.format import BackupManifest
    from ..backup.restoring import Result


def _configure(parser: ArgumentParser) -> None:
    parser.add_argument("--from", metavar="URL", dest="source", required=True, help="URL of the backup")
    parser.add_argument("--snapshot", metavar="NAME", help="a snapshot (default: the newest complete one)")
    parser.add_argument(
        "--organization",
        metavar="NAME",
        action="append",
        default=[],
        help="only this organization, by object name or id; can be repeated",
    )
    parser.add_argument(
        "--into-namespace",
        metavar="[OLD=]NEW",
        action="append",
        default=[],
        dest="into",
        help="restore objects of the namespace OLD into NEW (OLD is optional if there is one; can be repeated)",
    )
    parser.add_argument(
        "--photos", action=BooleanOptionalAction, default=True, help="also copy photos and the archive (default)"
    )
    parser.add_argument(
        "--check-keys",
        action=BooleanOptionalAction,
        default=True,
        help="first check that the server key is the same and that all secrets can be opened, and accept admissions of "
        "runs only with a valid seal (default)",
    )
    parser.add_argument(
        "--parallel", metavar="N", type=from_one(256), default=16, help="objects written at a time (16)"
    )
    add_cluster_options(parser)


def _run(options: Namespace) -> ExitStatus:
    return asyncio.run(_restore(options))


async def _restore(options: Namespace) -> ExitStatus:
    # Imported late: the cluster client takes half a second to import, and other commands do not need it.
    from checklist_crds.kube.client import KubeClient, KubeConnection
    from checklist_crds.kube.errors import KubeError
    from checklist_crds.platform.object_store import StoreUnavailable

    from ..backup.format import DamagedBackup
    from ..backup.keys import sealing_keys, server_keys
    from ..backup.restoring import Restore
    from ..console.progress import Progress

    logging.getLogger("kubernetes").setLevel(logging.ERROR)
    store, progress = open_backup(options.source), Progress()
    keys, ring = server_keys(), sealing_keys()
    try:
        manifest = await store.snapshot(options.snapshot)
        progress.line(f"snapshot {manifest.name}, of {manifest.started_at:%F %T} UTC")
        stores = stores_of(options, target=options.source) if options.photos and manifest.copies else None
        async with KubeClient(await KubeConnection.load(options.kubeconfig), answer_within_s=60.0) as client:
            result = await Restore(
                client,
                store,
                manifest,
                stores=stores,
                server_keys=keys,
                ring=ring,
                namespaces=_namespaces(options.into, manifest),
                only=options.organization,
                check_keys=options.check_keys,
                parallel=options.parallel,
                progress=progress,
            ).run()
    except DamagedBackup as error:
        raise CommandFailed(f"the backup is damaged: {error}") from None
    except (KubeError, StoreUnavailable) as error:
        raise CommandFailed(f"{error}; run it again to resume") from None
    _print(result)
    return ExitStatus.NO if result.secrets_missing else ExitStatus.YES


def _print(result: "Result") -> None:
    from ..backup.placing import Placed

    made = result.placed[Placed.MADE]
    print(f"objects: {made:,} created, {result.placed.total() - made:,} existed; {result.archived:,} runs are archived")
    if result.copies is not None:
        print(f"photos and archive: {result.copies.copied:,} objects copied, {result.copies.present:,} existed")
    if result.were_finished:
        print(f"restored before, unchanged: {', '.join(result.were_finished)}")
    print(f"organizations: {len(result.finished)} restored")
    if result.unproved:
        print(
            f"not proven: {len(result.unproved):,} runs were admitted without a valid seal under the server key; an "
            f"operator admits or refuses them: {', '.join(sorted(result.unproved)[:20])}"
        )
    for need in result.secrets_missing:
        print(
            f"missing or not readable: the Secret {need.namespace}/{need.name} with the key {need.key}, which webhooks "
            "of runs need"
        )


def _namespaces(into: list[str], manifest: "BackupManifest") -> dict[str, str]:
    """New namespaces by old. Raises CommandFailed."""
    found: dict[str, str] = {}
    for text in into:
        old, equals, new = text.rpartition("=")
        if not equals:
            if len(manifest.namespaces) > 1:
                raise CommandFailed(
                    f"the backup has objects in {', '.join(manifest.namespaces)}: give --into-namespace OLD=NEW"
                )
            found.update(dict.fromkeys(manifest.namespaces, new))
        elif old not in manifest.namespaces:
            raise CommandFailed(f"the backup has nothing in the namespace {old}")
        else:
            found[old] = new
    return found


COMMAND = Command(
    name="restore",
    summary="restore a backup into a cluster",
    description="""\
Restore a backup into a cluster, with ids, links, tokens, versions, the month's quota and unsent deliveries.

Before: install the definitions and the same Secrets (server key, sealing keys), create the namespaces, and scale the
operator to 0. Until all objects of an organization are restored it is paused, and the API answers 503 for it. Existing
objects are not overwritten: if another object has a needed name, the restore ends with an error. It can be interrupted
and run again; what is finished is not changed.

  checklist-dispatch restore --from s3://backups/checklists

Exit status: 0 done; 1 done, but webhook secrets of runs are missing; 2 an error (it may have begun).
""",
    configure=_configure,
    run=_run,
)
