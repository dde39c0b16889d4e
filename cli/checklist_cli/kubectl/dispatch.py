"""`kubectl checklists dispatch`: creates a Run, prints its name and link, and with --wait waits for its end."""

import asyncio
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import TYPE_CHECKING, Any, Final

from checklist_crds.ids import is_id
from checklist_crds.times import utc_now
from checklist_crds.values.json_text import JsonObject

from ..client.run_commands import add_output_option, print_json
from ..console.command import Command, CommandFailed, ExitStatus
from ..console.terminal import plain
from ..console.values import duration
from .cluster import Cluster, add_cluster_options, cluster_of, condition_of
from .link import NoLink, link_of
from .runs import create_run, interrupted, parsed, wait_for_end
from .wait import report

if TYPE_CHECKING:
    from checklist_crds.resources.run import Run

_HOUR_S: Final = 3_600
_ADMITTED_WITHIN_S: Final = 60.0


class _NotDispatched(Exception):
    """The run exists and cannot be answered; the message says why."""

    def __init__(self, why: str, status: ExitStatus) -> None:
        super().__init__(why)
        self.status = status


def _configure(parser: ArgumentParser) -> None:
    template = parser.add_argument(
        "template", metavar="TEMPLATE", help="metadata.name of the Template, or its id t-<uuid>"
    )
    template.completes = "templates"  # type: ignore[attr-defined]
    parser.add_argument(
        "--name", metavar="NAME", help="metadata.name of the run (default: a new name that begins with the template's)"
    )
    parser.add_argument("--ref", metavar="TEXT", help="executorRef: your own reference, returned in reads and events")
    parser.add_argument(
        "--expires", metavar="TIME", type=duration, help="when the link expires, as 30m, 4h or 2d (default: never)"
    )
    parser.add_argument("--link", action="store_true", help="have the link put into a Secret, and print it")
    parser.add_argument(
        "--link-secret",
        metavar="NAME",
        help="have the link put into this Secret (default with --link: the name of the run)",
    )
    add_output_option(parser, "json: one line with name, namespace, run_id and link; with --wait also one with the run")
    hook = parser.add_argument_group("the webhook")
    hook.add_argument("--webhook", metavar="URL", help="endpoint for the events of the run")
    hook.add_argument(
        "--webhook-secret", metavar="NAME[:KEY]", type=_secret_key, help="Secret that signs the events (key: secret)"
    )
    hook.add_argument(
        "--events", metavar="NAMES", help="comma-separated events, as run.completed,run.cancelled (default: all)"
    )
    waiting = parser.add_argument_group("waiting")
    waiting.add_argument("--wait", action="store_true", help="wait for the end of the run")
    waiting.add_argument("--timeout", type=duration, metavar="TIME", help="maximum wait, as 90s, 30m, 4h or 2d")
    add_cluster_options(parser)


def _run(options: Namespace) -> ExitStatus:
    if options.timeout is not None and not options.wait:
        raise CommandFailed("--timeout needs --wait")
    metadata = {"generateName": _prefix(options)} if options.name is None else {"name": options.name}
    spec = _spec(options)
    options.created = False
    try:
        run = asyncio.run(_dispatch(options, metadata, spec))
    except _NotDispatched as reason:
        print(f"kubectl-checklists dispatch: {reason}", file=sys.stderr)
        return reason.status
    except KeyboardInterrupt:
        if options.created:
            interrupted(options.name, options)
        raise
    return report(run, options) if run is not None else ExitStatus.YES


async def _dispatch(options: Namespace, metadata: dict[str, str], spec: JsonObject) -> "Run | None":
    """Return the run after --wait. Raises _NotDispatched, CommandFailed and KubeError."""
    async with cluster_of(options) as cluster:
        options.name = (await create_run(cluster, metadata, spec)).name
        options.created = True
        shown: dict[str, str | None] = {"name": options.name, "namespace": cluster.namespace}
        if options.output == "text":
            print(options.name, flush=True)  # before anything else can fail: the run exists
        try:
            shown["run_id"] = (await _admitted(cluster, options.name)).public_id
            if options.link:
                shown["link"] = await link_of(cluster, options.name, _ADMITTED_WITHIN_S)
        except NoLink as reason:
            raise _NotDispatched(str(reason), ExitStatus.NO) from None
        finally:
            if options.output == "json":
                print_json(shown)
        if options.output == "text" and "link" in shown:
            print(plain(str(shown["link"])), flush=True)
        return await wait_for_end(cluster, options.name, options.timeout) if options.wait else None


async def _admitted(cluster: Cluster, name: str) -> "Run":
    """Wait for the operator's decision. Raises _NotDispatched unless the run is admitted."""
    from checklist_crds.resources.kinds import RUN

    def is_decided(body: JsonObject) -> bool:
        return condition_of(body, "Admitted") is not None or parsed(body).phase_at(utc_now()).is_final

    body = await cluster.until(RUN, name, is_decided, timeout_s=_ADMITTED_WITHIN_S)
    admitted = condition_of(body, "Admitted")
    if admitted is None and not is_decided(body):
        why = f"{name} is not admitted after {_ADMITTED_WITHIN_S:g} s: is the operator running?"
        raise _NotDispatched(why, ExitStatus.TIMEOUT)
    if admitted is not None and admitted["status"] == "False":
        why = f"{name} is not admitted: {admitted['reason']}: {admitted['message']}"
        advice = f"It is admitted when the cause is gone; to give up: kubectl delete run {name} -n {cluster.namespace}"
        raise _NotDispatched(f"{why} {advice}", ExitStatus.NO)
    return parsed(body)


def _prefix(options: Namespace) -> str:
    """What the name of the run begins with, if the caller gives none."""
    return "run-" if is_id("t", options.template) else f"{options.template}-"


def _spec(options: Namespace) -> JsonObject:
    """Build the spec of the Run. Raises CommandFailed."""
    spec: dict[str, Any] = (
        {"templateId": options.template}
        if is_id("t", options.template)
        else {"templateRef": {"name": options.template}}
    )
    if options.ref is not None:
        spec["executorRef"] = options.ref
    if options.expires is not None:
        spec["expiresInHours"] = options.expires / _HOUR_S
    if options.link or options.link_secret:
        spec["linkSecretRef"] = {"name": options.link_secret} if options.link_secret else {}
    if options.webhook is not None:
        if options.webhook_secret is None:
            raise CommandFailed("--webhook needs --webhook-secret")
        events = ["*"] if options.events is None else [name.strip() for name in options.events.split(",")]
        spec["webhook"] = {"url": options.webhook, "events": events, "secretRef": options.webhook_secret}
    elif options.events is not None or options.webhook_secret is not None:
        raise CommandFailed("--events and --webhook-secret need --webhook")
    return spec


def _secret_key(text: str) -> dict[str, str]:
    name, colon, key = text.partition(":")
    if not name or (colon and not key):
        raise ArgumentTypeError("must be NAME or NAME:KEY of a Secret")
    return {"name": name, "key": key or "secret"}


COMMAND = Command(
    name="dispatch",
    summary="create a run of a template, optionally print its link and wait for its end",
    description="""\
Create a Run of a Template, wait until the operator has admitted it, and print its name. Its public id, which
links and events have, is run_id of -o json.

  kubectl checklists dispatch restaurant-opening --ref "shift 7" --expires 12h
  kubectl checklists dispatch restaurant-opening --link
  kubectl checklists dispatch restaurant-opening --wait --timeout 1h -o json

With --link the second line is the link: anyone with it can answer the run. The operator puts it into a Secret
(spec.linkSecretRef), which the chart allows with linkSecrets.enabled. Without it, send the link from the dashboard or
with `checklist-dispatch link`.

Rights: create, get and watch runs; with --link get secrets. Ctrl-C leaves the run open.

Exit status: 0 dispatched, or with --wait completed; 1 not admitted or without link, and standard error says why; 2 an
error, 3 cancelled, 4 expired, 5 still open after --timeout or not admitted within 60 s, 130 interrupted.
""",
    configure=_configure,
    run=_run,
)
