"""`checklist-dispatch archive`: verifies and lists the archive and reads runs, without the service."""

import asyncio
import json
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from ..console.command import Command, CommandFailed, ExitStatus
from ..console.values import organization_id, run_id

if TYPE_CHECKING:
    from checklist_crds.archive import ArchiveStore

    from ..maintenance.archive_checking import Findings

_VARIABLES: Final = ("CHECKLISTS_ARCHIVE_STORE", "CHECKLISTS_PHOTO_STORE")


def _configure(parser: ArgumentParser) -> None:
    what = parser.add_subparsers(
        title="what to do", metavar="WHAT", required=True, dest="what", help="verify, list or cat"
    )
    verify = what.add_parser("verify", help="read everything and compare it with the manifests")
    verify.add_argument("--json", action="store_true", help="print the findings as one JSON object")
    verify.set_defaults(work=_verify)
    folders = what.add_parser("list", help="list the folders, with their parts, runs and bytes")
    folders.add_argument("--json", action="store_true", help="print one JSON object per line")
    folders.set_defaults(work=_list)
    cat = what.add_parser("cat", help="print one run of the archive as JSON")
    cat.add_argument("run", metavar="RUN_ID", type=run_id)
    cat.set_defaults(work=_cat)
    for one in (verify, folders, cat):
        one.add_argument(
            "--store", metavar="URL", help=f"the archive's store (default: {_VARIABLES[0]}, else {_VARIABLES[1]})"
        )
        one.add_argument(
            "--organization", metavar="ORG_ID", type=organization_id, help="only this organization, org-<uuid>"
        )


def _run(options: Namespace) -> ExitStatus:
    # Imported late: the store's library is slow to import, and other commands do not need it.
    from checklist_crds.archive import ArchiveStore, Damaged
    from checklist_crds.platform.object_store import InvalidStore, StoreUnavailable, default_url

    named = [os.environ[name] for name in _VARIABLES if os.environ.get(name)]
    url = options.store or (named[0] if named else default_url(os.environ))
    work: Callable[[ArchiveStore, Namespace], Awaitable[ExitStatus]] = options.work

    async def answered() -> ExitStatus:
        return await work(ArchiveStore.open(url), options)

    try:
        return asyncio.run(answered())
    except InvalidStore as problem:
        raise CommandFailed(f"the store's URL {problem}") from None
    except StoreUnavailable as problem:
        raise CommandFailed(f"the store does not answer: {problem}") from None
    except Damaged as problem:
        raise CommandFailed(f"the archive is damaged: {problem}") from None


async def _verify(store: "ArchiveStore", options: Namespace) -> ExitStatus:
    from checklist_crds.times import utc_now

    from ..console.progress import Progress
    from ..maintenance.archive_checking import ArchiveCheck

    progress = Progress()

    def report(found: "Findings") -> None:
        progress.now_and_then(lambda: f"{found.parts:,} parts, {found.runs:,} runs, {len(found.problems)} problems")

    found = await ArchiveCheck(store, clock=utc_now, report=report).run(options.organization)
    if options.json:
        print(json.dumps(found.as_json()))
    else:
        print(_summary(found))
        for problem in found.problems:
            print(f"  {problem}")
    return ExitStatus.NO if found.problems else ExitStatus.YES


async def _list(store: "ArchiveStore", options: Namespace) -> ExitStatus:
    from checklist_crds.archive import Folder

    for organization in [options.organization] if options.organization else await store.organizations():
        for month in await store.months(organization):
            parts = runs = size = 0
            async for place, _ in store.manifests(Folder(organization, month)):
                manifest = await store.manifest(place)
                if manifest is not None and place.has_runs:
                    parts, runs, size = parts + 1, runs + manifest.runs, size + manifest.size
            if options.json:
                row = {"organization": organization, "month": month, "parts": parts, "runs": runs, "bytes": size}
                print(json.dumps(row))
            else:
                print(f"{organization}  {month}  {runs:>9,} runs  {parts:>6,} parts  {size:>13,} bytes")
    return ExitStatus.YES


async def _cat(store: "ArchiveStore", options: Namespace) -> ExitStatus:
    from checklist_crds.archive import ArchiveReader, Manifest

    having: list[Manifest] = []
    async for place, _ in store.manifests(options.organization):
        manifest = await store.manifest(place) if place.has_runs else None
        if manifest is not None and options.run in manifest.run_ids:
            having.append(manifest)
    record = await ArchiveReader(store).newest(having, options.run)
    if record is None:
        print("the archive has no such run", file=sys.stderr)
        return ExitStatus.NO
    print(record.line().decode())
    return ExitStatus.YES


def _summary(found: "Findings") -> str:
    lines = [
        f"{len(found.organizations):,} organizations, {found.parts:,} parts, {found.runs:,} runs, "
        f"{found.deliveries:,} deliveries, {found.size:,} bytes",
    ]
    if found.twice:
        lines.append(f"{found.twice:,} runs are in several parts; the last state of each is valid")
    if found.unfinished:
        lines.append(f"{found.unfinished:,} parts are being written; the operator finishes them")
    if found.problems:
        lines.append(f"{len(found.problems):,} problems")
    else:
        lines.append("the archive is complete" if found.parts else "there is no archive: is this the right store?")
    return "\n".join(lines)


COMMAND = Command(
    name="archive",
    summary="verify the archive of runs, list it, or read a run out of it",
    description="""\
Read the archive of runs that have left the cluster (docs/data.md), without the service and the cluster.

  checklist-dispatch archive verify            every part against its manifest: digest, counts, ids
  checklist-dispatch archive list              folders, one per organization and month
  checklist-dispatch archive cat r-...         one run, as JSON

Credentials of the store come from the environment, as for API and operator. Nothing is changed.

Exit status: 0 the archive is complete (or the run was found), 1 it is not, 2 it could not be read.
""",
    configure=_configure,
    run=_run,
)
