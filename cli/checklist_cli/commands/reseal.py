"""`checklist-dispatch reseal`: seals all secrets with the new sealing key (docs/secrets.md)."""

import asyncio
import logging
import os
import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from checklist_crds.secrets.sealing import KeyRing
from checklist_crds.settings.names import SUFFIX

from ..console.command import Command, CommandFailed, ExitStatus
from ..console.progress import Progress
from ..console.values import from_one

if TYPE_CHECKING:
    from ..maintenance.resealing import Resealed, Result

_VARIABLE: Final = "CHECKLISTS_SEALING_KEYS"


def _configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--count",
        action="store_true",
        help="only count the secrets under each key; exit status 1 if some need resealing",
    )
    parser.add_argument(
        "--namespace", action="append", default=[], metavar="NAME", help="only this one, can be repeated (default: all)"
    )
    parser.add_argument(
        "--keys-file",
        type=Path,
        metavar="FILE",
        help=f"read the keys from a file instead of {_VARIABLE} or {_VARIABLE}{SUFFIX}",
    )
    parser.add_argument(
        "--parallel", type=from_one(10_000), default=4, metavar="N", help="runs written at a time (default: 4)"
    )
    parser.add_argument(
        "--per-second",
        type=from_one(10_000),
        default=0,
        metavar="N",
        help="write at most N runs per second (default: no limit)",
    )


def _run(options: Namespace) -> ExitStatus:
    ring = _ring(options)
    return asyncio.run(_reseal(options, ring))


async def _reseal(options: Namespace, ring: KeyRing) -> ExitStatus:
    # Imported late: the cluster client takes half a second to import, and other commands do not need it.
    from checklist_crds.kube.client import KubeClient, KubeConnection
    from checklist_crds.kube.errors import KubeError

    # The error that follows contains what its configuration loader logs.
    logging.getLogger("kubernetes").setLevel(logging.ERROR)

    from ..maintenance.resealing import Resealing

    try:
        connection = await KubeConnection.load()
    except KubeError as error:
        raise CommandFailed(str(error)) from None
    try:
        async with KubeClient(connection) as client:
            resealing = Resealing(
                client,
                ring,
                namespaces=options.namespace,
                parallel=options.parallel,
                per_second=options.per_second,
                report=_reporter(),
            )
            if options.count:
                return _print_count(await resealing.count(), ring)
            return _print_result(await resealing.run(), ring)
    except KubeError as error:
        raise CommandFailed(f"{error}; run it again to resume") from None


def _reporter() -> "Callable[[Resealed], None]":
    progress = Progress()
    return lambda now: progress.now_and_then(
        lambda: (
            f"pass {now.number}: {now.seen:,} secrets read, {now.resealed:,} resealed, {now.unreadable:,} unreadable"
        )
    )


def _print_count(keys: Counter[str], ring: KeyRing) -> ExitStatus:
    for key in dict.fromkeys((*ring.ids, *sorted(keys))):
        what = "seals" if key == ring.current else "opens" if key in ring.ids else "not among the keys"
        print(f"{keys[key]:>9,}  under {key} ({what})")
    return ExitStatus.YES if keys.total() == keys[ring.current] else ExitStatus.NO


def _print_result(result: "Result", ring: KeyRing) -> ExitStatus:
    print(f"sealed secrets: {result.seen:,}; resealed with {ring.current}: {result.resealed:,}")
    for run, why in result.unreadable.items():
        print(f"unreadable: {run}: {why}", file=sys.stderr)
    if result.is_still_used:
        print(
            f"new runs are sealed with another key: an API process does not use {ring.current} yet. Wait until all "
            "have read the changed file (restart those with environment variables), then run this again",
            file=sys.stderr,
        )
        return ExitStatus.NO
    if result.left:
        counts = ", ".join(f"{number:,} under {key}" for key, number in sorted(result.left.items()))
        print(f"left: {counts}; keep these keys", file=sys.stderr)
        return ExitStatus.NO
    others = [key for key in ring.ids if key != ring.current]
    print(f"left: 0; {', '.join(others)} can be removed" if others else "left: 0")
    return ExitStatus.YES


def _ring(options: Namespace) -> KeyRing:
    source, text = _VARIABLE, os.environ.get(_VARIABLE, "")
    named = os.environ.get(_VARIABLE + SUFFIX, "").strip()
    keys_file: Path | None = options.keys_file or (Path(named) if named and not text.strip() else None)
    if keys_file is not None:
        source = str(keys_file)
        try:
            text = keys_file.read_text("ascii")
        except OSError as error:
            raise CommandFailed(f"{source} cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise CommandFailed(f"{source}: must be id:base64,id:base64") from None
    if not text.strip():
        raise CommandFailed(f"{source} is empty: it must contain the keys of API and operator, the new one first")
    try:
        return KeyRing.parse(text)
    except ValueError as error:
        raise CommandFailed(f"{source}: {error}") from None


COMMAND = Command(
    name="reseal",
    summary="seal all secrets with a new sealing key",
    description="""\
Seal the webhook secrets of all runs and the passwords of all local accounts with the first key of
CHECKLISTS_SEALING_KEYS.

The service can keep running. It can be interrupted and run again. To rotate the key:

  1. old,new   give both keys to API and operator, the old one first, and wait until all processes use them
  2. new,old   then the new one first, again for all processes
  3.           checklist-dispatch reseal        with the keys of step 2, until it prints: left: 0
  4. new       remove the old one (keep it with backups that are older than step 3)

The cluster is that of KUBECONFIG, else of ~/.kube/config, else of the pod's service account, which needs to list and
patch runs and localaccounts.

Exit status: 0 nothing is left under another key, 1 something is, 2 an error.
""",
    configure=_configure,
    run=_run,
)
