"""The one way in which a run's status is changed: read, decide, write on condition, and again when others were faster.

A write travels as a JSON Patch that holds on the fields of its own writer. Two programs write the status of a run, and
each has fields of its own:

- changes of the run itself (the API's, and expiry) hold on `changes`, `seq`, `phase` and `operations`;
- the operator's records hold on `recordings`.

So an answer is never refused because a delivery was recorded meanwhile, nor the other way round. `conditions`,
`settled` and what remains from earlier versions are written by both, rarely, and hold on their own old value. Events
are appended to the outbox by changes, and taken out by the next change once they are recorded. The operator takes them
out of runs that are idle or have ended.

`seq`, `phase` and `operations` say nothing that `changes` does not, but that releases without `changes` write them.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, Final, TypeVar

from ..resources.base import KubeModel
from ..resources.kinds import RUN
from ..resources.run import Run, RunStatus
from .client import JsonObject, KubeClient, retry_conflicts

Read = TypeVar("Read")
Written = TypeVar("Written")


async def read_decide_write(
    read: Callable[[], Awaitable[Read]], decide_and_write: Callable[[Read], Awaitable[Written]], *, known: Read | None
) -> Written:
    """Calls `decide_and_write` with what was read until no other write came in between.

    `known` is a copy that spares the first read. Raises what the two raise but KubeConflict, and KubeContended.
    """
    remembered = [known] if known is not None else []

    async def attempt() -> Written:
        return await decide_and_write(remembered.pop() if remembered else await read())

    written: Written = await retry_conflicts(attempt)
    return written


async def write_status(client: KubeClient, run: Run, after: RunStatus, *, tidy: bool = False) -> JsonObject | None:
    """The run as it is after one conditional write; None when nothing changes.

    `tidy` takes recorded events out of the outbox. Raises KubeConflict when somebody changed the run since it was read.
    """
    patch = status_patch(run, after, tidy=tidy)
    return await client.json_patch_status(RUN, run.name, patch, run.namespace) if patch else None


Operation = dict[str, Any]

_CHANGE_HOLDS_ON: Final = ("changes", "seq", "phase", "operations")
_NO_CHANGE: Final = frozenset({"records", "recordings", "structured_records", "settled", "conditions", "outbox"})
"""Fields that the operator writes without changing the run."""
_HOLD_ON_THEMSELVES: Final = ("settled", "conditions", "structured_records")
_BY_MEMBER: Final = frozenset({"answers", "revisions", "photo_counts"})
"""Objects of which a change sends only the members that are new."""


def status_patch(run: Run, after: RunStatus, *, tidy: bool = False) -> list[Operation]:
    """The patch that makes `after` of the status of `run`, as it was read; empty when nothing changes.

    Kubernetes refuses it (KubeConflict) when another writer changed a field that it holds on. With `tidy`, a
    write of records takes recorded events out of the outbox and holds on the run's changes, too.
    """
    before, stored = run.status, run.stored
    changed = [name for name in RunStatus.model_fields if _differs(getattr(before, name), getattr(after, name))]
    is_change = not _NO_CHANGE.issuperset(changed)
    operations: list[Operation] = []
    if is_change:
        operations += [_test(stored, name) for name in _CHANGE_HOLDS_ON]
        operations.append(_add("changes", before.changes + 1))
    if "records" in changed:
        operations += [_test(stored, "recordings"), _add("recordings", before.recordings + 1)]
    operations += [_test(stored, _alias(name)) for name in _HOLD_ON_THEMSELVES if name in changed]
    for name in changed:
        if name == "outbox" and is_change:
            operations += _appended(stored, before, after)
        elif name in _BY_MEMBER:
            operations += _members(stored, name, getattr(before, name), getattr(after, name))
        elif name != "outbox":
            operations += _whole(stored, name, after)
    if not is_change and len(stored.get("outbox") or ()) > len(after.outbox):
        if after.phase.is_final:
            operations += _whole(stored, "outbox", after)
        elif tidy and operations:
            # Not without the list: the next change may know only an older one, and appends to it.
            operations += [_test(stored, "changes"), _test(stored, "seq")]
            operations.append(_add("outbox", [entry.to_kube() for entry in after.outbox]))
    if operations and not stored:
        operations.insert(0, {"op": "add", "path": "/status", "value": {}})
    return operations


def _appended(stored: Mapping[str, Any], before: RunStatus, after: RunStatus) -> list[Operation]:
    """New events at the end; where the outbox holds recorded ones, it is replaced without them."""
    outbox = stored.get("outbox") or ()
    if outbox and len(outbox) == len(before.outbox):
        return [_add("outbox/-", entry.to_kube()) for entry in after.outbox[len(before.outbox) :]]
    # An operator of a release before takes events out by itself: what it took must not come back.
    tests = [{"op": "test", "path": "/status/outbox/0/seq", "value": outbox[0]["seq"]}] if outbox else []
    return [*tests, *_whole(stored, "outbox", after)]


def _members(
    stored: Mapping[str, Any], name: str, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[Operation]:
    alias = _alias(name)
    new = {key: _plain(value) for key, value in after.items() if _differs(before.get(key), value)}
    if not stored.get(alias):
        yield _add(alias, new)
        return
    for key in before.keys() - after.keys():
        yield {"op": "remove", "path": f"/status/{alias}/{_escaped(key)}"}
    for key, value in new.items():
        yield _add(f"{alias}/{_escaped(key)}", value)


def _whole(stored: Mapping[str, Any], name: str, after: RunStatus) -> Iterator[Operation]:
    dumped = after.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True, include={name})
    for alias, value in dumped.items():
        yield _add(alias, value)
    if not dumped and _alias(name) in stored:
        yield {"op": "remove", "path": f"/status/{_alias(name)}"}


def _test(stored: Mapping[str, Any], alias: str) -> Operation:
    return {"op": "test", "path": f"/status/{alias}", "value": stored.get(alias)}


def _add(path: str, value: Any) -> Operation:
    """Of a member of an object, JSON Patch's `add` replaces what is there."""
    return {"op": "add", "path": f"/status/{path}", "value": value}


def _plain(value: Any) -> Any:
    return value.to_kube() if isinstance(value, KubeModel) else value


def _alias(name: str) -> str:
    return RunStatus.model_fields[name].alias or name


def _escaped(key: str) -> str:
    """A member's name as a JSON Pointer has it (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def _differs(before: Any, after: Any) -> bool:
    return before is not after and before != after
