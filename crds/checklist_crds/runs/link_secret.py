"""The Secret with the link of a run that has `spec.linkSecretRef`: content, desired state, and status of the run.

The Secret exists while the run is admitted and open. It is immutable and has its own type, so that a client that can
write but not read Secrets can check whether it belongs to this run: the API server refuses an update that changes type
or content.
"""

from base64 import b64encode
from collections.abc import Mapping
from datetime import datetime
from enum import Enum, auto
from typing import Any, Final

from ..resources.base import API_VERSION, ORGANIZATION_LABEL, with_condition
from ..resources.kinds import RUN, SECRET
from ..resources.run import Run, RunStatus
from .lifecycle import is_settled

LINK_READY: Final = "LinkReady"
LINK_SECRET_TYPE: Final = "checklists.dev/run-link"  # noqa: S105 - a type
LINK_KEY: Final = "link"


class LinkWork(Enum):
    """The required action on the Secret of a run."""

    NOTHING = auto()
    ENSURE = auto()
    REMOVE = auto()


def link_work(run: Run, now: datetime) -> LinkWork:
    """Returns the required action: an admitted and open run has its Secret, a finished run has none. There is no link
    before admission, which establishes the organization."""
    if run.spec.link_secret_ref is None or run.resolved is None:
        return LinkWork.NOTHING
    if not run.phase_at(now).is_final:
        return LinkWork.ENSURE
    return LinkWork.NOTHING if run.status.link_secret_uid is None else LinkWork.REMOVE


def secret_name(run: Run) -> str:
    """Returns the name of the run's Secret; empty without linkSecretRef."""
    reference = run.spec.link_secret_ref
    return "" if reference is None else reference.name or run.name


def link_secret(run: Run, link: str, *, uid: str | None = None) -> dict[str, Any]:
    """Returns the Secret of an admitted run with linkSecretRef. With `uid`, an update of only that object."""
    if run.spec.link_secret_ref is None:
        raise ValueError(f"run {run.name} has no linkSecretRef")
    metadata: dict[str, Any] = {
        "name": secret_name(run),
        "namespace": run.namespace,
        "labels": {ORGANIZATION_LABEL: run.admitted_as.organization},
        "ownerReferences": [
            {"apiVersion": API_VERSION, "kind": RUN.kind, "name": run.name, "uid": run.uid, "controller": True}
        ],
    }
    if uid is not None:
        metadata["uid"] = uid
    return {
        "apiVersion": SECRET.api_version,
        "kind": SECRET.kind,
        "metadata": metadata,
        "type": LINK_SECRET_TYPE,
        "immutable": True,
        "data": {LINK_KEY: b64encode(link.encode()).decode()},
    }


def with_link_secret(run: Run, uid: str, *, now: datetime) -> RunStatus:
    """Returns the status of an open run whose Secret exists. It does not contain the link."""
    return _with_condition(
        run, uid, True, "SecretCreated", f"The Secret {secret_name(run)!r} contains the link.", now=now
    )


def with_refused_link_secret(run: Run, reason: str, message: str, *, now: datetime) -> RunStatus:
    """Returns the status of a run whose Secret cannot be written for now. The uid of an earlier Secret stays, so that
    it is deleted at the end."""
    return _with_condition(run, run.status.link_secret_uid, False, reason, message, now=now)


def with_deleted_link_secret(run: Run, refusal: tuple[str, str] | None = None, *, now: datetime) -> RunStatus:
    """Returns the status of a finished run after its Secret was deleted; `settled` if nothing else is left.

    `refusal`: reason and message if the Secret could not be deleted; the run is settled nevertheless.
    """
    reason, message = refusal or ("RunEnded", f"The run has ended, and the Secret {secret_name(run)!r} was deleted.")
    after = _with_condition(run, None, False, reason, message, now=now)
    return after.model_copy(update={"settled": True}) if is_settled(after) and not after.settled else after


def owner_of(secret: Mapping[str, Any]) -> str | None:
    """Returns metadata.name of the run that owns the Secret."""
    for owner in secret["metadata"].get("ownerReferences") or ():
        if owner.get("kind") == RUN.kind and owner.get("apiVersion") == API_VERSION:
            return str(owner["name"])
    return None


def is_left_over(secret: Mapping[str, Any], run: Run | None, now: datetime) -> bool:
    """Whether no open run needs this Secret. `run`: the run with the name of the owner, if any; a restored run has
    another uid and becomes the owner."""
    if run is None or run.spec.link_secret_ref is None or link_work(run, now) is not LinkWork.ENSURE:
        return True
    return secret_name(run) != str(secret["metadata"]["name"])


def _with_condition(run: Run, uid: str | None, holds: bool, reason: str, message: str, *, now: datetime) -> RunStatus:
    conditions = with_condition(
        run.status.conditions, LINK_READY, holds, reason, message, now=now, generation=run.generation
    )
    return run.status.model_copy(update={"link_secret_uid": uid, "conditions": conditions})
