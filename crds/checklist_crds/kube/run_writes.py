"""Changes a run's status: read, decide, write conditionally, and repeat after a concurrent write.

A write is a JSON Patch that tests fields of its own writer. Two programs write the status of a run, with separate
fields:

- changes of the run itself (by the API, and expiry) test `changes`, `seq`, `phase` and `operations`;
- the operator's records test `recordings`.

So a recorded delivery never makes an answer fail, nor the other way round. Both rarely write `conditions`, `settled`
and fields of earlier versions, and test their old values. Changes append events to the outbox, and remove recorded
ones. The operator removes recorded events from runs that are idle or have ended.

`seq`, `phase` and `operations` are tested in addition to `changes` because releases without `changes` write them.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from ..ids import is_id
from ..resources.base import KubeModel
from ..resources.kinds import RUN
from ..resources.run import Run, RunStatus
from ..values.json_text import JsonObject
from .client import KubeClient, conflict_pauses
from .errors import KubeConflict

StatusChange = Callable[[Run], RunStatus]


async def change_run_status(
    client: KubeClient,
    namespace: str,
    name: str,
    change: StatusChange,
    *,
    known: JsonObject | None = None,
    drop_recorded: bool = False,
) -> JsonObject:
    """Writes `change(run)` and returns the updated run. `known` is a copy that saves the first read.

    `drop_recorded` removes recorded events from the outbox, unless another write came between.
    `change` receives the run without answers, and may be called several times. Raises KubeNotFound, KubeUnavailable
    and other KubeErrors.
    """
    pauses_s = conflict_pauses()
    while True:
        body = known if known is not None else await client.get(RUN, name, namespace)
        run = Run.parse(body, answers=False)
        try:
            return await write_status(client, run, change(run), drop_recorded=drop_recorded) or body
        except KubeConflict:
            await asyncio.sleep(next(pauses_s))
        known, drop_recorded = None, False


async def write_status(
    client: KubeClient, run: Run, after: RunStatus, *, drop_recorded: bool = False
) -> JsonObject | None:
    """Returns the run after one conditional write; None when nothing changes.

    `drop_recorded` removes recorded events from the outbox. Raises KubeConflict when the run changed since it was read.
    """
    patch = status_patch(run, after, drop_recorded=drop_recorded)
    return await client.json_patch_status(RUN, run.name, patch, run.namespace) if patch else None


Operation = dict[str, Any]

_TESTED_BY_A_CHANGE: Final = ("changes", "seq", "phase", "operations")
"""Fields that each change of the run tests."""
_NO_CHANGE: Final = frozenset({"records", "recordings", "structured_records", "settled", "conditions", "outbox"})
"""Fields that the operator writes without changing the run."""
_TESTED_WHEN_WRITTEN: Final = ("settled", "conditions", "structured_records")
"""Fields that a write tests only if it writes them."""
_BY_MEMBER: Final = frozenset({"answers", "revisions", "photo_counts"})
"""Objects of which a change sends only new members."""


def status_patch(run: Run, after: RunStatus, *, drop_recorded: bool = False) -> list[Operation]:
    """Builds the patch from the status of `run`, as read, to `after`; empty when nothing changes.

    Kubernetes refuses it (KubeConflict) when another writer changed a tested field. With `drop_recorded`, a write of
    records removes recorded events from the outbox and also tests the run's changes.
    """
    before, stored = run.status, run.stored
    changed = [name for name in RunStatus.model_fields if _differs(getattr(before, name), getattr(after, name))]
    is_change = not _NO_CHANGE.issuperset(changed)
    operations: list[Operation] = []
    if is_change:
        operations += [_test(stored, name) for name in _TESTED_BY_A_CHANGE]
        operations.append(_add("changes", before.changes + 1))
    if "records" in changed:
        operations += [_test(stored, "recordings"), _add("recordings", before.recordings + 1)]
    operations += [_test(stored, _alias(name)) for name in _TESTED_WHEN_WRITTEN if name in changed]
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
        elif drop_recorded and operations:
            # Refused if an event was added since the read, which would be lost. An empty list is written as such: a
            # change that knows an older state appends to the list, which must exist.
            operations += [_test(stored, "changes"), _test(stored, "seq")]
            operations.append(_add("outbox", [entry.to_kube() for entry in after.outbox]))
    if operations and not stored:
        operations.insert(0, {"op": "add", "path": "/status", "value": {}})
    if operations and not is_id("r", run.name):
        # A name that is no id may be used again once its run was deleted.
        operations.insert(0, {"op": "test", "path": "/metadata/uid", "value": run.uid})
    return operations


def _appended(stored: Mapping[str, Any], before: RunStatus, after: RunStatus) -> list[Operation]:
    """Appends new events; replaces an outbox that contains recorded ones."""
    outbox = stored.get("outbox") or ()
    if outbox and len(outbox) == len(before.outbox):
        return [_add("outbox/-", entry.to_kube()) for entry in after.outbox[len(before.outbox) :]]
    # An operator of the previous release removes events itself: these must not come back.
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
    """For a member of an object, JSON Patch's `add` replaces an existing value."""
    return {"op": "add", "path": f"/status/{path}", "value": value}


def _plain(value: Any) -> Any:
    return value.to_kube() if isinstance(value, KubeModel) else value


def _alias(name: str) -> str:
    return RunStatus.model_fields[name].alias or name


def _escaped(key: str) -> str:
    """Escapes a member's name for a JSON Pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def _differs(before: Any, after: Any) -> bool:
    return before is not after and before != after
