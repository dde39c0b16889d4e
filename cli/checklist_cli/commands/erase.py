"""`checklist-dispatch erase`: erases one person's data, with a receipt."""

import asyncio
import json
import os
import socket
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..console.cluster import add_namespace_option, connected, served_namespaces
from ..console.command import Command, CommandFailed, ExitStatus
from ..console.values import run_id
from .backup import ARCHIVE_STORE, PHOTO_STORE, add_cluster_options, open_backup

if TYPE_CHECKING:
    from checklist_crds.secrets.sealing import ServerKeys

    from ..erasure.erasing import Erasure
    from ..erasure.search import Places
    from ..erasure.search_result import SearchResult

_SHOWN: Final = 20
"""Runs listed on the terminal; the receipt lists all."""


def _configure(parser: ArgumentParser) -> None:
    parser.add_argument("--organization", metavar="NAME", help="the organization, by object name or id")
    who = parser.add_argument_group("who", "any number of these; everything that matches one of them is erased")
    who.add_argument("--email", metavar="ADDRESS", action="append", default=[], type=_email, help="an e-mail address")
    who.add_argument(
        "--member",
        metavar="NAME",
        action="append",
        default=[],
        help="a member, by object name or id, u-<uuid>",
    )
    who.add_argument(
        "--executor-ref", metavar="TEXT", action="append", default=[], help="the caller's reference of the person"
    )
    who.add_argument("--run", metavar="ID", action="append", default=[], type=run_id, help="a run, r-<uuid>")
    parser.add_argument("--dry-run", action="store_true", help="print what would be erased, and change nothing")
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    parser.add_argument("--receipt", metavar="FILE", help="write the receipt to a new file (default: standard output)")
    parser.add_argument("--with-account", action="store_true", help="also remove their member, account and sessions")
    parser.add_argument(
        "--backup",
        metavar="URL",
        action="append",
        default=[],
        help="report which snapshots of this backup still have the runs; can be repeated",
    )
    parser.add_argument("--check-receipt", metavar="FILE", help="only verify a receipt")
    add_namespace_option(parser)
    add_cluster_options(parser)


def _run(options: Namespace) -> ExitStatus:
    keys = _keys()
    if options.check_receipt:
        return _check(options, keys)
    if not options.organization:
        raise CommandFailed("give --organization")
    if not (options.email or options.member or options.executor_ref or options.run):
        raise CommandFailed("give at least one of --email, --member, --executor-ref and --run")
    if not (options.dry_run or options.yes or sys.stdin.isatty()):
        raise CommandFailed("no terminal to ask for confirmation: give --yes, or --dry-run to see what would be erased")
    if options.receipt and Path(options.receipt).exists():
        raise CommandFailed(f"{options.receipt} exists already")
    return asyncio.run(_erase(options, keys))


async def _erase(options: Namespace, keys: "ServerKeys") -> ExitStatus:
    from checklist_crds.archive import Damaged
    from checklist_crds.platform.object_store import StoreUnavailable

    from ..erasure.receipt import as_text, summary

    try:
        async with connected(
            options.kubeconfig,
            namespaces=served_namespaces(),
            answer_within_s=60.0,
            advice="; run it again to resume",
            also=(StoreUnavailable,),
        ) as client:
            erasure = await _prepared(options, keys, _places(options, client))
            if options.dry_run or not options.yes:
                result = await erasure.dry_run()
                for line in _preview(result):
                    print(line, file=sys.stdout if options.dry_run else sys.stderr)
                if options.dry_run:
                    return ExitStatus.YES
                if not _agreed():
                    print("nothing was done", file=sys.stderr)
                    return ExitStatus.NO
            receipt = await erasure.run()
    except Damaged as error:
        raise CommandFailed(f"the archive's store: {error}; nothing was deleted because of it") from None
    text = as_text(receipt)
    if options.receipt:
        _write(options.receipt, text)
    else:
        print(text, end="")
    for line in summary(receipt):
        print(line, file=sys.stdout if options.receipt else sys.stderr)
    return ExitStatus.YES if receipt["complete"] else ExitStatus.NO


async def _prepared(options: Namespace, keys: "ServerKeys", places: "Places") -> "Erasure":
    from ..console.progress import Progress
    from ..erasure.cluster_search import ClusterSearch
    from ..erasure.erasing import Erasure, Request
    from ..erasure.person import Person, normalised

    cluster = ClusterSearch(places.client, places.namespace, Progress())
    organization = await cluster.organization(options.organization)
    asked = Person(
        emails=frozenset(map(normalised, options.email)),
        references=frozenset(map(normalised, options.executor_ref)),
        runs=frozenset(options.run),
    )
    identity = await cluster.identity(organization, asked, options.member)
    if options.with_account and identity.is_last_admin:
        raise CommandFailed(f"that is the only administrator of {organization.name}: create another one first")
    named = {
        *(("email", email) for email in asked.emails),
        *(("executor_ref", reference) for reference in asked.references),
        *(("member", member) for member in options.member),
        *(("run", run) for run in asked.runs),
    }
    request = Request(organization, identity, tuple(sorted(named)), options.with_account)
    return Erasure(
        places,
        request,
        keys=keys,
        written_by=f"checklist-dispatch on {socket.gethostname()}",
        backups={url: open_backup(url) for url in options.backup},
    )


def _places(options: Namespace, client: Any) -> "Places":
    """Raises CommandFailed if the photo store is not configured: an erasure must include it."""
    from checklist_crds.archive import ArchiveStore
    from checklist_crds.photos.store import PhotoStore
    from checklist_crds.platform.object_store import InvalidStore

    from ..erasure.search import Places

    photos = options.photo_store or os.environ.get(PHOTO_STORE, "").strip()
    archive = options.archive_store or os.environ.get(ARCHIVE_STORE, "").strip() or photos
    if not photos:
        raise CommandFailed(f"the photo store is not set: set {PHOTO_STORE}, or give --photo-store")
    try:
        return Places(client, ArchiveStore.open(archive), PhotoStore.open(photos), options.namespace)
    except InvalidStore as error:
        raise CommandFailed(f"the store's URL {error}") from None


def _check(options: Namespace, keys: "ServerKeys") -> ExitStatus:
    """Verify that the receipt is genuine and, if a person is given, about them."""
    from ..erasure.person import normalised
    from ..erasure.receipt import is_about, is_genuine

    try:
        receipt = json.loads(Path(options.check_receipt).read_text("utf-8"))
    except OSError as error:
        raise CommandFailed(f"{options.check_receipt} cannot be read: {error.strerror}") from None
    except ValueError:
        print("NOT genuine: not JSON")
        return ExitStatus.NO
    if not is_genuine(receipt, keys):
        print("NOT genuine: changed, or made by another installation or with a server key that is not set any more")
        return ExitStatus.NO
    meant = [("email", normalised(one)) for one in options.email]
    meant += [("executor_ref", normalised(one)) for one in options.executor_ref]
    meant += [("member", one) for one in options.member] + [("run", one) for one in options.run]
    for kind, value in meant:
        if not is_about(receipt, keys, kind, value):
            print(f"genuine, but not about this {kind}")
            return ExitStatus.NO
    runs, complete = receipt["erased"]["counts"]["runs"], "complete" if receipt["complete"] else "NOT complete"
    print(f"genuine: {receipt['id']}, finished {receipt['finished_at']}, {runs:,} runs, {complete}")
    return ExitStatus.YES


def _preview(result: "SearchResult") -> list[str]:
    """Lines that list what would be erased."""
    held = result.held
    going = sorted({target for target in result.targets - held.keys() if result.places_of(target)})
    lines = []
    for target in going[:_SHOWN]:
        found = result.places_of(target)
        where = "cluster" if target in result.live else "archive"
        lines.append(f"{target}  {where}  by {', '.join(sorted({why for run in found for why in run.why}))}")
    if len(going) > _SHOWN:
        lines.append(f"... and {len(going) - _SHOWN:,} more runs")
    lines += [f"{target}  kept: {why}" for target, why in sorted(held.items())]
    lines += [f"{what}: cannot be read" for what in result.unreadable]
    lines += [f"{one.kind.kind} {one.namespace}/{one.name}" for one in result.account]
    counts = ", ".join(f"{count:,} {what.replace('_', ' ')}" for what, count in result.left.items() if count)
    lines.append(f"would be erased: {counts or 'nothing'}")
    return lines


def _agreed() -> bool:
    print("erase all of this permanently? Type yes: ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() == "yes"


def _write(name: str, text: str) -> None:
    try:
        with Path(name).open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        print(text, end="")
        raise CommandFailed(f"{name} cannot be written: {error.strerror}; the receipt was printed") from None


def _keys() -> "ServerKeys":
    from ..backup.keys import SERVER_KEY, server_keys

    keys = server_keys()
    if keys is None:
        raise CommandFailed(f"receipts are signed and verified with the server key: set {SERVER_KEY}")
    return keys


def _email(text: str) -> str:
    if "@" not in text.strip()[1:-1]:
        raise ArgumentTypeError("must be an e-mail address")
    return text.strip()


COMMAND = Command(
    name="erase",
    summary="erase one person's data: runs, photos, archive, deliveries; with a receipt",
    description="""\
Erase one person's data from an organization, in the cluster, the archive and the photo store, and write a receipt.

A run is theirs if they answered it with the address (in upper or lower case), opened or answered it as that member, if
the caller's reference is the address or the one given, or if the run itself is given. All of it is erased: the run in
any state (its link stops working, unsent events are not sent), its deliveries, photos, drawings and its line in the
archive; other lines keep their bytes. Runs under a legal hold are kept, and the exit status is 1.

  checklist-dispatch erase --organization acme --email ada@example.com --dry-run
  checklist-dispatch erase --organization acme --email ada@example.com --yes --receipt ada.json
  checklist-dispatch erase --check-receipt ada.json --email ada@example.com

Afterwards everything is searched a second time. The receipt (JSON, signed with CHECKLISTS_SERVER_KEY) lists what was
erased, what is kept and why, and where else data may be; it contains no names. If interrupted, run the same command
again. The service can keep running. Text within answers of others is not searched. More: docs/data.md.

Exit status: 0 erased, or genuine; 1 something is kept (a hold, an unfinished part), or not genuine; 2 an error.
""",
    configure=_configure,
    run=_run,
)
