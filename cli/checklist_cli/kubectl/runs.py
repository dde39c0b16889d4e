"""Runs of the cluster as the commands need them: read, created, awaited, shown as JSON."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from checklist_crds.times import format_optional, format_timestamp, utc_now
from checklist_crds.values.json_text import JsonObject

from ..client.run_commands import exit_status_of
from ..console.command import CommandFailed, ExitStatus
from ..console.progress import Progress
from .cluster import Cluster

if TYPE_CHECKING:
    from checklist_crds.resources.run import Answer, Run

_PREFIXES: Final = ("run/", "runs/", "clrun/", "run.checklists.dev/", "runs.checklists.dev/")


def run_name(text: str) -> str:
    """The metadata.name of a run, which may have its kind in front as `kubectl create -o name` prints it."""
    return next((text.removeprefix(prefix) for prefix in _PREFIXES if text.startswith(prefix)), text)


def add_run_argument(parser: ArgumentParser, *, many: bool = False) -> None:
    """RUN, completed with the names of runs."""
    action = parser.add_argument(
        "runs" if many else "run",
        metavar="RUN",
        type=run_name,
        nargs="*" if many else None,
        help="metadata.name of the run; run/NAME is accepted, too",
    )
    action.completes = "runs"  # type: ignore[attr-defined]


def parsed(body: JsonObject) -> "Run":
    """Raises CommandFailed for a run that this version cannot read."""
    from checklist_crds.resources.run import Run

    try:
        return Run.parse(body)
    except ValueError:
        name = body["metadata"]["name"]
        raise CommandFailed(f"this version cannot read the run {name}; update the plugin") from None


async def read_run(cluster: Cluster, name: str) -> "Run":
    """Raises CommandFailed and KubeError."""
    from checklist_crds.resources.kinds import RUN

    return parsed(await cluster.get(RUN, name))


async def create_run(cluster: Cluster, name: Mapping[str, str], spec: Mapping[str, Any]) -> "Run":
    """`name`: its `name`, or a `generateName`. Raises KubeError."""
    from checklist_crds.resources.base import API_VERSION
    from checklist_crds.resources.kinds import RUN

    metadata = {**name, "namespace": cluster.namespace}
    body = {"apiVersion": API_VERSION, "kind": RUN.kind, "metadata": metadata, "spec": dict(spec)}
    return parsed(await cluster.client.create(RUN, body, cluster.namespace))


async def wait_for_end(cluster: Cluster, name: str, timeout_s: float | None) -> "Run":
    """Return the run when it has ended, or as it is after `timeout_s`. Reports progress to standard error."""
    from checklist_crds.resources.kinds import RUN

    progress, reported = Progress(), ""

    def has_ended(body: JsonObject) -> bool:
        nonlocal reported
        run = parsed(body)
        if run.phase_at(utc_now()).is_final:
            return True
        if (state := f"{name} is {_state(run)}") != reported:
            reported = state
            progress.line(state)
        return False

    def expiry(body: JsonObject) -> Any:
        return parsed(body).expires_at

    return parsed(await cluster.until(RUN, name, has_ended, timeout_s=timeout_s, wake_at=expiry))


def exit_status(run: "Run", *, if_open: ExitStatus) -> ExitStatus:
    return exit_status_of({"status": rest_status(run)}, if_open=if_open)


def rest_status(run: "Run") -> str:
    """The status in the words of the REST API; expiry takes effect at its time."""
    return run.phase_at(utc_now()).rest


def document_of(run: "Run") -> JsonObject:
    """The run as JSON, with the field names of `GET /v1/runs/{run_id}`."""
    return {
        "name": run.name,
        "namespace": run.namespace,
        "run_id": run.public_id,
        "status": rest_status(run),
        "executor_ref": run.spec.executor_ref,
        "expires_at": format_optional(run.expires_at),
        "progress": run.progress.model_dump(mode="json"),
        "flagged": run.flagged,
        "answers": answers_of(run),
        "skipped_steps": run.status.skipped_steps,
    }


def answers_of(run: "Run") -> dict[str, JsonObject]:
    """Answers by step id as the REST API has them, without the URLs of photos."""
    return {step_id: _answer(answer) for step_id, answer in run.status.answers.items()}


def _answer(answer: "Answer") -> JsonObject:
    photos = [
        {
            "photo_index": photo.index,
            "content_type": photo.content_type,
            "bytes": photo.bytes,
            "sha256": photo.sha256,
            "captured_at": format_optional(photo.captured_at),
        }
        for photo in answer.photos
    ]
    geo = None if answer.geo is None else answer.geo.model_dump(mode="json", by_alias=False)
    return {
        "value": answer.value,
        "photos": photos,
        "geo": geo,
        "at": format_timestamp(answer.at),
        "by": answer.by,
        "flagged": bool(answer.flagged),
        "note": answer.note,
    }


def _state(run: "Run") -> str:
    if run.resolved is None:
        refused = next((one for one in run.status.conditions if one.type == "Admitted" and one.status == "False"), None)
        return "not admitted" if refused is None else f"not admitted: {refused.reason}: {refused.message}"
    return f"{rest_status(run)}, {run.progress.answered} of {run.progress.total} answered"


def interrupted(name: str, options: Namespace) -> None:
    """Say that the run is still open, and how to wait again."""
    namespace = f" -n {options.namespace}" if options.namespace else ""
    print(f"{name} is still open; to wait again: kubectl checklists wait {name}{namespace}", file=sys.stderr)
