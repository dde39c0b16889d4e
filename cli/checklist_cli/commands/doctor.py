"""`checklist-dispatch doctor`: checks the health of an installation and prints advice."""

import asyncio
import json
import os
from argparse import ArgumentParser, Namespace
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Final

from checklist_crds.times import utc_now

from ..console.cluster import add_kubeconfig_option, add_namespace_option, connected
from ..console.command import Command, ExitStatus
from ..console.progress import Progress
from ..console.values import url
from ..doctor.finding import Finding, Level, worst

if TYPE_CHECKING:
    from checklist_crds.kube.client import KubeClient

_WORDS: Final = {Level.OK: "ok", Level.WARNING: "WARNING", Level.CRITICAL: "WRONG", Level.UNKNOWN: "not seen"}


def _configure(parser: ArgumentParser) -> None:
    add_namespace_option(parser)
    parser.add_argument(
        "--watch-namespace",
        metavar="NAME",
        action="append",
        dest="watched",
        help="a namespace of organizations, can be repeated (default: CHECKLISTS_WATCH_NAMESPACES, else all)",
    )
    add_kubeconfig_option(parser)
    parser.add_argument(
        "--ask", metavar="URL", action="append", type=url, default=[], help="also check /readyz of this API or operator"
    )
    parser.add_argument("--quick", action="store_true", help="skip checks that read every run and delivery")
    parser.add_argument("--strict", action="store_true", help="treat what cannot be seen as a warning")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of lines")


def _run(options: Namespace) -> ExitStatus:
    return asyncio.run(_examine(options))


async def _examine(options: Namespace) -> ExitStatus:
    findings: list[Finding] = []
    served = os.environ.get("CHECKLISTS_WATCH_NAMESPACES", "").replace(",", " ").split()
    watched = tuple(options.watched or served)
    async with connected(options.kubeconfig, namespaces=watched) as client:
        await client.server_time()  # fails early if the cluster is unreachable
        async for finding in _all(client, options):
            findings.append(finding)
            if not options.json:
                _print(finding)
    level = worst(findings, strict=options.strict)
    if options.json:
        document = {"level": level.name.lower(), "findings": [finding.to_json() for finding in findings]}
        print(json.dumps(document, indent=2))
    else:
        counts = {one: sum(finding.level is one for finding in findings) for one in Level}
        print(
            f"\n{counts[Level.OK]} good, {counts[Level.WARNING]} warnings, {counts[Level.CRITICAL]} wrong, "
            f"{counts[Level.UNKNOWN]} not seen"
        )
    return ExitStatus(max(0, level))


async def _all(client: "KubeClient", options: Namespace) -> AsyncIterator[Finding]:
    from ..doctor import cluster, dependencies, work

    namespace = options.namespace
    of_keys, ids = dependencies.keys(os.environ)
    for finding in of_keys:
        yield finding
    parts = [
        cluster.clock(client, utc_now),
        cluster.definitions(client),
        cluster.programs(client, namespace),
        cluster.rights(client, namespace),
        cluster.leaders(client, namespace, utc_now),
        dependencies.answering(options.ask),
        dependencies.redis(os.environ, await cluster.api_pods(client, namespace)),
        dependencies.stores(os.environ),
        work.restored(client),
    ]
    if not options.quick:
        parts += [
            work.runs(client, ids, utc_now, _reporter("runs")),
            work.deliveries(client, utc_now, _reporter("deliveries")),
            work.past_retention(client, utc_now, _reporter("settled runs")),
            dependencies.archived(os.environ),
        ]
    for part in parts:
        async for finding in part:
            yield finding


def _print(finding: Finding) -> None:
    print(f"{_WORDS[finding.level]:<9} {finding.check}: {finding.text}", flush=True)
    if finding.advice and finding.level is not Level.OK:
        print(f"{'':<9}   to do: {finding.advice}", flush=True)


def _reporter(what: str) -> Callable[[int], None]:
    progress = Progress()
    return lambda seen: progress.now_and_then(lambda: f"... {seen:,} {what} checked")


COMMAND = Command(
    name="doctor",
    summary="check the health of an installation, with advice",
    description="""\
Check an installation: definitions and their versions, pods, rights, leader, clock, keys, Redis, stores, late work,
stuck runs, retention and archive. Each line says what was found, and what to do if it is wrong.

It changes nothing except a probe object in each store, which it deletes. Keys, Redis and stores are read from the
CHECKLISTS_ settings of its environment, so run it in a pod of the API:

  kubectl -n checklists exec deploy/checklist-dispatch-api -- checklist-dispatch doctor

From outside it needs to list runs, deliveries, organizations, leases, deployments and definitions; it reports what it
may not read. Exit status, as for monitoring: 0 all good, 1 warnings, 2 something is wrong, or it could not check.
""",
    configure=_configure,
    run=_run,
)
