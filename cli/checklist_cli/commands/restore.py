"""`checklist-dispatch restore`: brings a backup into a cluster."""

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
    parser.add_argument("--from", metavar="URL", dest="source", required=True, help="where the backup is")
    parser.add_argument("--snapshot", metavar="NAME", help="this one (default: the newest that is whole)")
    parser.add_argument(
        "--organization",
        metavar="NAME",
        action="append",
        default=[],
        help="only this one, by its object's name or its id; may be repeated",
    )
    parser.add_argument(
        "--into-namespace",
        metavar="[OLD=]NEW",
        action="append",
        default=[],
        dest="into",
        help="put objects of the namespace OLD into NEW (OLD may be left out when there is one; may be repeated)",
    )
    parser.add_argument(
        "--photos", action=BooleanOptionalAction, default=True, help="copy photos and the archive, too (default)"
    )
    parser.add_argument(
        "--check-keys",
        action=BooleanOptionalAction,
        default=True,
        help="see first that the server key is the same and that all that is sealed opens, and believe no run that has "
        "no seal of the service (default)",
    )
    parser.add_argument(
        "--parallel", metavar="N", type=from_one(256), default=16, help="objects written at a time (16)"
    )
    add_cluster_options(parser)


def _run(options: Namespace) -> ExitStatus:
    return asyncio.run(_restore(options))


async def _restore(options: Namespace) -> ExitStatus:
    # What talks to a cluster takes half a second to import, and other commands have no need of it.
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
        raise CommandFailed(f"{error}; what is done stays done, and running it again goes on from there") from None
    _tell(result)
    return ExitStatus.NO if result.secrets_missing else ExitStatus.YES


def _tell(result: "Result") -> None:
    from ..backup.placing import Placed

    made = result.placed[Placed.MADE]
    print(f"objects: {made:,} made, {result.placed.total() - made:,} were there; {result.archived:,} runs are archived")
    if result.copies is not None:
        print(f"photos and archive: {result.copies.copied:,} objects copied, {result.copies.present:,} were there")
    if result.were_finished:
        print(f"restored before, and left alone: {', '.join(result.were_finished)}")
    print(f"organizations: {len(result.finished)} restored")
    if result.unproved:
        print(
            f"not believed: {len(result.unproved):,} runs say that they were admitted, without a valid seal under the "
            f"server key; an operator admits or refuses them: {', '.join(sorted(result.unproved)[:20])}"
        )
    for need in result.secrets_missing:
        print(
            f"missing (or not to be seen from here): the Secret {need.namespace}/{need.name} with the key {need.key}, "
            "which runs' webhooks need"
        )


def _namespaces(into: list[str], manifest: "BackupManifest") -> dict[str, str]:
    """New by old. Raises CommandFailed."""
    found: dict[str, str] = {}
    for text in into:
        old, equals, new = text.rpartition("=")
        if not equals:
            if len(manifest.namespaces) > 1:
                raise CommandFailed(
                    f"the backup has objects in {', '.join(manifest.namespaces)}: write --into-namespace OLD=NEW"
                )
            found.update(dict.fromkeys(manifest.namespaces, new))
        elif old not in manifest.namespaces:
            raise CommandFailed(f"the backup has nothing in the namespace {old}")
        else:
            found[old] = new
    return found


COMMAND = Command(
    name="restore",
    summary="bring a backup into a cluster",
    description="""\
Bring a backup into a cluster: ids, links, tokens, versions, quota of the month and deliveries still to be sent are as
they were.

Before: install the definitions and the same Secrets (server key, sealing keys), make the namespaces, and let no
operator run (scale it to 0). Until all objects of an organization are there it is paused, and an API that runs answers
503 for it. Nothing that is in the cluster is written over: where something else bears a name that is needed, it says so
and ends. It may be stopped at any time; run again, it goes on, and what is finished is left alone.

  checklist-dispatch restore --from s3://backups/checklists

Exit status: 0 done; 1 done, but webhook secrets that runs name are missing; 2 it could not be done (it may have begun).
""",
    configure=_configure,
    run=_run,
)
