"""`kubectl checklists tree`: prints runs with their revision, link Secret and deliveries."""

import asyncio
from argparse import ArgumentParser, Namespace
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from checklist_crds.times import format_timestamp
from checklist_crds.values.json_text import JsonObject

from ..console.command import Command, CommandFailed, ExitStatus
from ..console.terminal import plain
from .cluster import Cluster, add_cluster_options, cluster_of
from .runs import add_run_argument, parsed, read_run

if TYPE_CHECKING:
    from checklist_crds.resources.delivery import DeliveryAttempt, WebhookDeliverySpec, WebhookDeliveryStatus
    from checklist_crds.resources.run import Run


_BRANCH: Final = ("├─ ", "│  ")
_LAST: Final = ("└─ ", "   ")


def _configure(parser: ArgumentParser) -> None:
    add_run_argument(parser, many=True)
    add_cluster_options(parser, all_namespaces=True)


def _run(options: Namespace) -> ExitStatus:
    if options.all_namespaces and (options.runs or options.namespace):
        raise CommandFailed("--all-namespaces takes neither RUN nor --namespace")
    found = asyncio.run(_print_trees(options))
    if not found:
        print("no runs")
    return ExitStatus.YES


async def _print_trees(options: Namespace) -> int:
    """Return the number of runs."""
    async with cluster_of(options) as cluster:
        if options.runs:
            for name in options.runs:
                run = await read_run(cluster, name)
                selector = f"spec.runRef.name={name}"
                _print_tree(run, await _deliveries(cluster, cluster.namespace, selector))
            return len(options.runs)
        return await _print_all(cluster, None if options.all_namespaces else cluster.namespace)


async def _print_all(cluster: Cluster, namespace: str | None) -> int:
    from checklist_crds.resources.kinds import RUN, key_of

    by_run: dict[tuple[str, str], list[JsonObject]] = defaultdict(list)
    for body in await _deliveries(cluster, namespace):
        by_run[body["metadata"]["namespace"], body["spec"]["runRef"]["name"]].append(body)
    count = 0
    async for page, _ in cluster.client.pages(RUN, namespace):
        for body in page:
            count += 1
            try:
                run = parsed(body)
            except CommandFailed as failed:
                place = _place(*key_of(body), with_namespace=namespace is None)
                print(plain(f"Run {place}: {failed}"))
                continue
            _print_tree(run, by_run[run.namespace, run.name], with_namespace=namespace is None)
    return count


async def _deliveries(cluster: Cluster, namespace: str | None, selector: str | None = None) -> list[JsonObject]:
    from checklist_crds.resources.kinds import WEBHOOK_DELIVERY

    items, _ = await cluster.client.list_all(WEBHOOK_DELIVERY, namespace, field_selector=selector)
    return items


def _print_tree(run: "Run", deliveries: Sequence[JsonObject], *, with_namespace: bool = False) -> None:
    print(plain(_title(run, with_namespace=with_namespace)))
    branches = list(_branches(run, deliveries))
    for number, (line, below) in enumerate(branches, 1):
        first, rest = _LAST if number == len(branches) else _BRANCH
        print(first + plain(line))
        for place, text in enumerate(below, 1):
            print(rest + (_LAST if place == len(below) else _BRANCH)[0] + plain(text))


def _place(namespace: str, name: str, *, with_namespace: bool) -> str:
    return f"{namespace}/{name}" if with_namespace else name


def _title(run: "Run", *, with_namespace: bool) -> str:
    place = _place(run.namespace, run.name, with_namespace=with_namespace)
    progress = "" if run.resolved is None else f", {run.progress.answered} of {run.progress.total} answered"
    reference = f", {run.spec.executor_ref}" if run.spec.executor_ref else ""
    public_id = f" ({run.public_id})" if run.public_id not in (None, run.name) else ""
    return f"Run {place}{public_id}: {run.status.phase.value}{progress}{reference}"


def _branches(run: "Run", deliveries: Sequence[JsonObject]) -> Iterator[tuple[str, list[str]]]:
    from checklist_crds.runs.link_secret import secret_name

    conditions = {condition.type: condition for condition in run.status.conditions}
    if run.resolved is not None:
        template = f"{run.resolved.template_name} v{run.resolved.template_version} ({run.resolved.template_id})"
        yield f"TemplateRevision {run.resolved.revision_ref.name}: {template}", []
    elif (admitted := conditions.get("Admitted")) is not None:
        yield f"not admitted: {admitted.reason}: {admitted.message}", []
    if run.spec.link_secret_ref is not None:
        ready = conditions.get("LinkReady")
        yield f"Secret {secret_name(run)}: {'not created' if ready is None else ready.reason}", []
    yield from _events(run, deliveries)


def _events(run: "Run", deliveries: Sequence[JsonObject]) -> Iterator[tuple[str, list[str]]]:
    """The events by number: those with a WebhookDelivery by its state, which is newer than the run's record."""
    from checklist_crds.resources.delivery import WebhookDeliverySpec, WebhookDeliveryStatus

    found: dict[int, tuple[str, list[str]]] = {}
    for entry in run.status.outbox:
        found[entry.seq] = f"event {entry.seq} {entry.event.value}: first attempt is due", []
    for record in run.status.delivery_records:
        outcome = _outcome(record.outcome, record.http_status)
        text = f"{record.phase.value} after {_attempts(record.attempts)}{outcome}, {record.event_id}"
        found[record.seq] = f"event {record.seq} {record.event.value}: {text}", []
    for body in deliveries:
        spec = WebhookDeliverySpec.model_validate(body["spec"])
        status = WebhookDeliveryStatus.model_validate(body.get("status") or {})
        found[spec.seq] = _delivery(body["metadata"]["name"], spec, status)
    for _, branch in sorted(found.items()):
        yield branch


def _delivery(name: str, spec: "WebhookDeliverySpec", status: "WebhookDeliveryStatus") -> tuple[str, list[str]]:
    due = "" if status.next_attempt_at is None else f", next at {format_timestamp(status.next_attempt_at)}"
    text = f"{status.phase.value} after {_attempts(status.attempt)}{due}, WebhookDelivery {name}"
    return f"event {spec.seq} {spec.event.value}: {text}", [_attempt(one) for one in status.attempts]


def _attempt(attempt: "DeliveryAttempt") -> str:
    what = "replay" if attempt.manual else f"attempt {attempt.number}"
    detail = f": {attempt.detail}" if attempt.detail else ""
    outcome = _outcome(attempt.outcome, attempt.http_status)
    return f"{what} {format_timestamp(attempt.started_at)}{outcome}, {attempt.duration_ms} ms{detail}"


def _attempts(count: int) -> str:
    return f"{count} attempt{'' if count == 1 else 's'}"


def _outcome(outcome: object, http_status: int | None) -> str:
    return "".join(f", {one}" for one in (outcome, http_status) if one is not None)


COMMAND = Command(
    name="tree",
    summary="print runs with their revision and deliveries",
    description="""\
Print a run with the TemplateRevision that it uses, the Secret with its link, and every event with its delivery: state,
attempts, and for a delivery that was retried or replayed each attempt. Without RUN: all runs of the namespace.

  kubectl checklists tree opening-x7k2p
  kubectl checklists tree -A

Rights: get runs (without RUN: list) and list webhookdeliveries.

Exit status: 0 printed, 2 an error.
""",
    configure=_configure,
    run=_run,
)
