"""Replays many deliveries by a DeliveryReplay, and reports its progress."""

import secrets
from argparse import Namespace
from typing import Any, Final

from checklist_crds.times import utc_now
from checklist_crds.values.json_text import JsonObject

from ..console.command import CommandFailed, ExitStatus
from ..console.progress import Progress
from .cluster import Cluster
from .runs import read_run

MEMBERS: Final = (
    ("--run", "run"),
    ("--event-id", "event_ids"),
    ("--phase", "phase"),
    ("--event", "event"),
    ("--outcome", "outcome"),
    ("--host", "host"),
    ("--after", "finished_after"),
    ("--before", "finished_before"),
)
"""Options that select many deliveries, and their names in the parsed arguments."""


def filter_of(options: Namespace) -> dict[str, Any]:
    """The given options among MEMBERS, by name."""
    return {name: getattr(options, name) for _, name in MEMBERS if getattr(options, name) is not None}


async def replay_many(cluster: Cluster, options: Namespace, chosen: dict[str, Any]) -> ExitStatus:
    """Create a DeliveryReplay, wait for its end and print its counts. Raises CommandFailed and KubeError."""
    from checklist_crds.resources.kinds import DELIVERY_REPLAY

    name = f"replay-{utc_now():%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"
    spec = await _spec(cluster, options, chosen)
    await cluster.client.create(
        DELIVERY_REPLAY, DELIVERY_REPLAY.manifest(name, cluster.namespace, spec), cluster.namespace
    )
    progress = Progress()
    progress.line(f"created deliveryreplay {name}; deleting it stops the replay")
    if options.no_wait:
        print(name)
        return ExitStatus.YES

    def is_finished(body: JsonObject) -> bool:
        progress.now_and_then(lambda: _counts(body))
        return _phase(body) in ("Completed", "Refused")

    body = await cluster.until(DELIVERY_REPLAY, name, is_finished, timeout_s=options.timeout)
    status = body.get("status") or {}
    print(f"{name} {_phase(body).lower()}: {_counts(body)}")
    for refusal in status.get("refusals") or ():
        print(f"  refused {refusal['count']}: {refusal['reason']}")
    if _phase(body) == "Completed":
        return ExitStatus.NO if status.get("failed") or status.get("refused") else ExitStatus.YES
    if _phase(body) == "Refused":
        for condition in status.get("conditions") or ():
            progress.line(f"{condition['type']} {condition['reason']}: {condition.get('message', '')}")
        return ExitStatus.NO
    return ExitStatus.TIMEOUT


async def _spec(cluster: Cluster, options: Namespace, chosen: dict[str, Any]) -> JsonObject:
    from checklist_crds.resources.base import OrganizationRef
    from checklist_crds.resources.replay import DeliveryReplaySpec, ReplayFilter

    run = chosen.pop("run", None)
    organization = options.organization
    if organization is None:
        if run is None:
            raise CommandFailed("give --organization, or --run")
        organization = (await read_run(cluster, run)).admitted_as.organization
    if run is not None:
        chosen["run_ref"] = {"name": run}
    elif "event_ids" in chosen:
        raise CommandFailed("--event-id needs --run")
    try:
        spec = DeliveryReplaySpec(
            organization_ref=OrganizationRef(name=organization),
            filter=ReplayFilter.model_validate(chosen),
            dry_run=options.dry_run,
            requested_by=options.by,
        )
    except ValueError as error:
        raise CommandFailed(f"the filter is not valid: {_first_problem(error)}") from None
    return spec.to_kube() | {"filter": spec.filter.to_kube()}


def _first_problem(error: ValueError) -> str:
    """The option and what is wrong with it."""
    problems: list[Any] = getattr(error, "errors", list)()
    if not problems:
        return str(error)
    options = {name: option for option, name in MEMBERS}
    places = [options.get(str(place)) or str(place) for place in problems[0]["loc"]]
    return f"{places[0]}: {problems[0]['msg']}"


def _phase(body: JsonObject) -> str:
    return str((body.get("status") or {}).get("phase") or "Pending")


def _counts(body: JsonObject) -> str:
    status = body.get("status") or {}
    total = status.get("total")
    counts = (f"{status.get(name, 0)} {name}" for name in ("done", "delivered", "failed", "refused"))
    return ", ".join([f"{'?' if total is None else total} selected", *counts])
