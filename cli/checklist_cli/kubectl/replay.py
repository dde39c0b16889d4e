"""`kubectl checklists replay`: sends ended deliveries again, one by its annotation or many by a DeliveryReplay."""

import asyncio
import sys
from argparse import ArgumentParser, Namespace
from typing import Any, Final

from checklist_crds.ids import is_id
from checklist_crds.resources.delivery import REPLAY_ANNOTATION, REPLAY_BY_ANNOTATION
from checklist_crds.resources.delivery_records import DeliveryPhase
from checklist_crds.resources.event_names import EventName
from checklist_crds.resources.outcome import OutcomeClass
from checklist_crds.times import format_timestamp, utc_now
from checklist_crds.values.json_text import JsonObject

from ..console.command import Command, CommandFailed, ExitStatus
from ..console.progress import Progress
from ..console.values import duration
from .bulk_replay import MEMBERS, filter_of, replay_many
from .cluster import Cluster, add_cluster_options, cluster_of, condition_of
from .runs import run_name

_PREFIXES: Final = ("cldel/", "webhookdelivery/", "webhookdelivery.checklists.dev/")
_DEFAULT_TIMEOUT_S: Final = 60.0


def _configure(parser: ArgumentParser) -> None:
    delivery = parser.add_argument(
        "delivery", metavar="DELIVERY", type=_delivery_name, nargs="?", help="one WebhookDelivery, evt-<uuid>"
    )
    delivery.completes = "deliveries"  # type: ignore[attr-defined]
    many = parser.add_argument_group("many deliveries, which match all of these")
    run = many.add_argument("--run", metavar="RUN", type=run_name, help="events of this run")
    run.completes = "runs"  # type: ignore[attr-defined]
    many.add_argument(
        "--event-id", metavar="ID", action="append", dest="event_ids", help="this event of --run; can be repeated"
    )
    many.add_argument("--phase", choices=("Failed", "Delivered"), type=_phase, help="how they ended (default: Failed)")
    many.add_argument("--event", choices=[str(name) for name in EventName], help="events of this kind")
    many.add_argument("--outcome", choices=[str(name) for name in OutcomeClass], help="outcome of the last attempt")
    many.add_argument("--host", metavar="NAME", help="endpoints on this host, without the port")
    many.add_argument("--after", metavar="TIME", dest="finished_after", help="ended at this time (RFC 3339) or later")
    many.add_argument("--before", metavar="TIME", dest="finished_before", help="ended before this time (RFC 3339)")
    many.add_argument(
        "--organization", metavar="NAME", help="the Organization of the deliveries (default: that of --run)"
    )
    many.add_argument("--dry-run", action="store_true", help="only count")
    parser.add_argument("--by", metavar="TEXT", help="who requests it, for the history")
    parser.add_argument("--no-wait", action="store_true", help="return when the request is written")
    parser.add_argument(
        "--timeout",
        type=duration,
        metavar="TIME",
        help="maximum wait, as 90s or 1h (default: one delivery 60s, many: no limit)",
    )
    add_cluster_options(parser)


def _run(options: Namespace) -> ExitStatus:
    chosen = filter_of(options)
    if options.delivery is not None and (chosen or options.dry_run):
        raise CommandFailed("give one DELIVERY, or options that select many, not both")
    if options.delivery is None and not chosen:
        raise CommandFailed(f"give a DELIVERY, or one of {', '.join(option for option, _ in MEMBERS)}")
    return asyncio.run(_replay(options, chosen))


async def _replay(options: Namespace, chosen: dict[str, Any]) -> ExitStatus:
    async with cluster_of(options) as cluster:
        if options.delivery is None:
            return await replay_many(cluster, options, chosen)
        return await _replay_one(cluster, options)


async def _replay_one(cluster: Cluster, options: Namespace) -> ExitStatus:
    """Set the annotation and report what the operator did. Raises CommandFailed and KubeError."""
    from checklist_crds.kube.errors import KubeNotFound
    from checklist_crds.resources.delivery import WebhookDeliveryStatus
    from checklist_crds.resources.kinds import WEBHOOK_DELIVERY

    name, requested_at = options.delivery, format_timestamp(utc_now())
    annotations = {REPLAY_ANNOTATION: requested_at, **({REPLAY_BY_ANNOTATION: options.by} if options.by else {})}
    try:
        await cluster.client.patch(
            WEBHOOK_DELIVERY, name, {"metadata": {"annotations": annotations}}, cluster.namespace
        )
    except KubeNotFound:
        raise CommandFailed(
            f"there is no WebhookDelivery {name} in the namespace {cluster.namespace}; an event that was delivered at "
            f"its first attempt has none: replay --run RUN --event-id {name}"
        ) from None
    if options.no_wait:
        print(f"{name} requested")
        return ExitStatus.YES
    timeout_s = options.timeout or _DEFAULT_TIMEOUT_S
    body = await cluster.until(WEBHOOK_DELIVERY, name, _is_answered, timeout_s=timeout_s)
    if not _is_answered(body):
        Progress().line(f"{name} is not replayed after {timeout_s:g} s: is the operator running?")
        return ExitStatus.TIMEOUT
    last = WebhookDeliveryStatus.model_validate(body.get("status") or {}).last_replay
    if last is not None and format_timestamp(last.requested_at) == requested_at:
        delivered = last.outcome is OutcomeClass.SUCCESS
        shown = " ".join(str(one) for one in (last.outcome, last.http_status) if one is not None)
        print(f"{name} {'delivered' if delivered else 'failed'} {shown or 'not sent'}")
        return ExitStatus.YES if delivered else ExitStatus.NO
    refused = condition_of(body, "Replayed") or {}
    print(f"{name} refused: {refused.get('reason', '')}: {refused.get('message', '')}", file=sys.stderr)
    return ExitStatus.NO


def _is_answered(body: JsonObject) -> bool:
    """The operator clears the annotation after its decision, and `status.replay` after the attempt."""
    annotations = body["metadata"].get("annotations") or {}
    return REPLAY_ANNOTATION not in annotations and "replay" not in (body.get("status") or {})


def _delivery_name(text: str) -> str:
    name = next((text.removeprefix(prefix) for prefix in _PREFIXES if text.startswith(prefix)), text)
    if not is_id("evt", name):
        from argparse import ArgumentTypeError

        raise ArgumentTypeError("must be the name of a WebhookDelivery, evt-<uuid>")
    return name


def _phase(text: str) -> str:
    return next((str(phase) for phase in DeliveryPhase if phase.value.lower() == text.lower()), text)


COMMAND = Command(
    name="replay",
    summary="send ended deliveries again",
    description="""\
Send one delivery again, or all that match a filter, and report what became of them.

  kubectl checklists replay evt-...
  kubectl checklists replay --run opening-x7k2p
  kubectl checklists replay --organization acme --host hooks.example.com --after 2026-11-21T08:00:00Z --dry-run

One delivery is requested by the annotation checklists.dev/replay (rights: get, patch and watch webhookdeliveries), many
by a DeliveryReplay (rights: create, get and watch deliveryreplays; for --run get runs). Deleting the DeliveryReplay
stops it.

Exit status: 0 delivered (or counted, or requested with --no-wait); 1 some failed or were refused; 2 an error, 5 not
done after --timeout, 130 interrupted.
""",
    configure=_configure,
    run=_run,
)
