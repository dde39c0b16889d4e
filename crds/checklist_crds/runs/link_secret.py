"""The Secret that holds the link of a run which asks for one (`spec.linkSecretRef`): its content, and what is due.

The Secret exists while the run is admitted and open. It is immutable and has a type of its own, so that a program that
may write Secrets but not read them can find out whether one is this run's: the API server refuses an update that would
change the type or the content.
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
    """What is due for the Secret of a run."""

    NOTHING = auto()
    ENSURE = auto()
    REMOVE = auto()


def link_work(run: Run, now: datetime) -> LinkWork:
    """An admitted and open run has its Secret; one that has ended has none. Before admission there is no link: only
    then is it certain whose run it is."""
    if run.spec.link_secret_ref is None or run.resolved is None:
        return LinkWork.NOTHING
    if not run.phase_at(now).is_final:
        return LinkWork.ENSURE
    return LinkWork.NOTHING if run.status.link_secret_uid is None else LinkWork.REMOVE


def link_secret(run: Run, link: str, *, uid: str | None = None) -> dict[str, Any]:
    """The Secret of an admitted run that has a linkSecretRef. With `uid`, an update of that very object."""
    if run.spec.link_secret_ref is None:
        raise ValueError(f"run {run.name} has no linkSecretRef")
    metadata: dict[str, Any] = {
        "name": run.spec.link_secret_ref.name,
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
    """The status of an open run whose Secret is there. Nothing in it tells the link."""
    return _with_condition(run, uid, True, "SecretCreated", f"The Secret {_name(run)!r} holds the link.", now=now)


def without_link_secret(run: Run, reason: str, message: str, *, now: datetime) -> RunStatus:
    """The status of a run that cannot have its Secret, for now. What is recorded of an earlier one stays, so that it
    is deleted at the end."""
    return _with_condition(run, run.status.link_secret_uid, False, reason, message, now=now)


def with_link_over(run: Run, refusal: tuple[str, str] | None = None, *, now: datetime) -> RunStatus:
    """The status of a run that has ended, after its Secret was deleted; `settled` when nothing else is left.

    `refusal`: reason and message, where the Secret could not be deleted. It keeps nothing from being settled.
    """
    reason, message = refusal or ("RunEnded", f"The run has ended, and the Secret {_name(run)!r} was deleted.")
    after = _with_condition(run, None, False, reason, message, now=now)
    return after.model_copy(update={"settled": True}) if is_settled(after) and not after.settled else after


def owner_of(secret: Mapping[str, Any]) -> str | None:
    """metadata.name of the run that owns a Secret with a link."""
    for owner in secret["metadata"].get("ownerReferences") or ():
        if owner.get("kind") == RUN.kind and owner.get("apiVersion") == API_VERSION:
            return str(owner["name"])
    return None


def is_left_over(secret: Mapping[str, Any], run: Run | None, now: datetime) -> bool:
    """Whether no open run asks for this Secret. `run`: the one of its owner's name, if there is one; its uid may be
    another, because a backup restored it, and then it becomes the owner."""
    if run is None or run.spec.link_secret_ref is None or link_work(run, now) is not LinkWork.ENSURE:
        return True
    return run.spec.link_secret_ref.name != str(secret["metadata"]["name"])


def _with_condition(run: Run, uid: str | None, holds: bool, reason: str, message: str, *, now: datetime) -> RunStatus:
    conditions = with_condition(
        run.status.conditions, LINK_READY, holds, reason, message, now=now, generation=run.generation
    )
    return run.status.model_copy(update={"link_secret_uid": uid, "conditions": conditions})


def _name(run: Run) -> str:
    return "" if run.spec.link_secret_ref is None else run.spec.link_secret_ref.name
