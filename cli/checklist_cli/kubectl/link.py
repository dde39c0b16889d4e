"""`kubectl checklists link`: prints the link of a run from the Secret of its spec.linkSecretRef."""

import asyncio
import base64
import binascii
import sys
from argparse import ArgumentParser, Namespace
from typing import Final

from checklist_crds.times import utc_now
from checklist_crds.values.json_text import JsonObject

from ..console.command import Command, CommandFailed, ExitStatus
from ..console.terminal import plain
from ..console.values import duration
from .cluster import Cluster, add_cluster_options, cluster_of, condition_of
from .runs import add_run_argument, parsed, rest_status

DEFAULT_TIMEOUT_S: Final = 30.0


class NoLink(Exception):
    """The run has no link to print; the message says why, and what to do."""


async def link_of(cluster: Cluster, name: str, timeout_s: float) -> str:
    """Return the link when the operator has created the Secret. Raises NoLink, CommandFailed and KubeError."""
    from checklist_crds.kube.errors import KubeForbidden, KubeNotFound
    from checklist_crds.resources.kinds import RUN, SECRET
    from checklist_crds.runs.link_secret import LINK_KEY, LINK_READY, secret_name

    def is_decided(body: JsonObject) -> bool:
        run = parsed(body)
        return (
            run.spec.link_secret_ref is None
            or run.phase_at(utc_now()).is_final
            or condition_of(body, LINK_READY) is not None
            or (condition_of(body, "Admitted") or {}).get("status") == "False"
        )

    body = await cluster.until(RUN, name, is_decided, timeout_s=timeout_s)
    run = parsed(body)
    if run.phase_at(utc_now()).is_final:
        raise NoLink(f"{name} is {rest_status(run)}: its link leads nowhere any more")
    if run.spec.link_secret_ref is None:
        raise NoLink(
            f"{name} has no spec.linkSecretRef, so its link is not in the cluster: dispatch with --link, or use "
            f"`checklist-dispatch link {run.public_id or 'RUN_ID'}` with an API key, or the dashboard"
        )
    refused = condition_of(body, "Admitted") or {}
    ready = condition_of(body, LINK_READY)
    if ready is None and refused.get("status") == "False":
        raise NoLink(f"{name} is not admitted: {refused['reason']}: {refused['message']}")
    if ready is None:
        raise NoLink(f"{name} has no Secret with its link after {timeout_s:g} s: is the operator running?")
    if ready["status"] != "True":
        raise NoLink(f"{name} has no Secret with its link: {ready['reason']}: {ready['message']}")
    secret = secret_name(run)
    try:
        found = await cluster.client.get(SECRET, secret, cluster.namespace)
        return base64.b64decode(found["data"][LINK_KEY], validate=True).decode()
    except KubeForbidden as error:
        raise CommandFailed(f"the link is in the Secret {secret}: {error}") from None
    except KubeNotFound:
        raise NoLink(f"the Secret {secret} was deleted; the operator creates it again at its next resync") from None
    except (KeyError, ValueError, binascii.Error):
        raise CommandFailed(f"the Secret {secret} has no key {LINK_KEY} with a link") from None


def _configure(parser: ArgumentParser) -> None:
    add_run_argument(parser)
    parser.add_argument(
        "--timeout",
        type=duration,
        metavar="TIME",
        default=DEFAULT_TIMEOUT_S,
        help="maximum wait for the Secret, as 90s or 5m (default: 30s)",
    )
    add_cluster_options(parser)


def _run(options: Namespace) -> ExitStatus:
    try:
        link = asyncio.run(_link(options))
    except NoLink as reason:
        print(f"kubectl-checklists link: {reason}", file=sys.stderr)
        return ExitStatus.NO
    print(plain(link))
    return ExitStatus.YES


async def _link(options: Namespace) -> str:
    async with cluster_of(options) as cluster:
        return await link_of(cluster, options.run, options.timeout)


COMMAND = Command(
    name="link",
    summary="print the link of an open run",
    description="""\
Print the link of an open run that has spec.linkSecretRef. Anyone with the link can answer the run: send it to the
executor only, and keep it out of logs.

  kubectl checklists link opening-x7k2p

It reads the Secret that the operator created (rights: get and watch runs, get secrets). With the chart, the operator
creates such Secrets if linkSecrets.enabled is set.

Exit status: 0 printed; 1 the run has no link, and standard error says why; 2 an error.
""",
    configure=_configure,
    run=_run,
)
