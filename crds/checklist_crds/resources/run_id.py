"""The public id of a run, from its object.

A name of the form `r-<uuid>` is the id itself, and so is the name of a run that the API made (with a sealed
`spec.resolved`). A run with another name gets its id at admission, in `status.resolved.runId`, which only the service
may write. A run without an id counts as not admitted.
"""

from collections.abc import Mapping
from typing import Any, Final

from ..ids import is_id

RUN_ID_FIELD: Final = "status.resolved.runId"
"""Field selector for runs whose name is not their id."""


def run_id_of(body: Mapping[str, Any]) -> str | None:
    """Returns the public id of a Run object; None if it has none yet."""
    name = body["metadata"]["name"]
    if is_id("r", name):
        return str(name)
    given = ((body.get("status") or {}).get("resolved") or {}).get("runId")
    if is_id("r", given):
        return str(given)
    return str(name) if (body.get("spec") or {}).get("resolved") else None


def resolved_of(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Returns `resolved` of a Run object; None for a run that is not admitted."""
    resolved = (body.get("spec") or {}).get("resolved") or (body.get("status") or {}).get("resolved")
    return resolved if resolved and run_id_of(body) is not None else None


def is_of_run(delivery: Mapping[str, Any], run: Mapping[str, Any]) -> bool:
    """Whether the delivery belongs to this run, not to an earlier one of the same name."""
    return run_id_of(run) == run_id_of_delivery(delivery)


def run_id_of_delivery(body: Mapping[str, Any]) -> str:
    """Returns the public id of the run of a WebhookDelivery object; earlier versions made them only for runs whose name
    is the id."""
    spec = body["spec"]
    return str(spec.get("runId") or spec["runRef"]["name"])
