"""Compact row encoding for the index of deliveries."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import orjson

from checklist_crds.ids import is_id

from .delivery_history import OUTCOMES, STATUSES, Attempt, FromDelivery, FromRun, Replay

_STATUSES: Final = {name: number for number, name in enumerate(STATUSES)}
_OUTCOMES: Final = {name: number for number, name in enumerate(OUTCOMES)}


@lru_cache(maxsize=1024)
def packed_id(prefix: str, text: str | None) -> bytes | None:
    """Return the UUID of an id as bytes; None if it is not an id."""
    if text is None or not is_id(prefix, text):
        return None
    return bytes.fromhex(text[len(prefix) + 1 :].replace("-", ""))


def packed_run(run: FromRun) -> bytes:
    return _packed((_number(_STATUSES, run.status), run.happened_at, run.attempts_made, _plain(run.last)))


def unpacked_run(packed: bytes | None) -> FromRun | None:
    if packed is None:
        return None
    status, happened_at, made, last = _padded(orjson.loads(packed), 4)
    return FromRun(_name(_STATUSES, status), happened_at, made, _attempt(last))


def packed_delivery(kept: FromDelivery) -> bytes:
    attempts = [_plain(attempt) for attempt in kept.attempts]
    replay = tuple(kept.last_replay) if kept.last_replay is not None else None
    return _packed((_number(_STATUSES, kept.status), *kept[1:3], attempts, *kept[4:-1], replay))


def unpacked_delivery(packed: bytes | None) -> FromDelivery | None:
    if packed is None:
        return None
    status, happened_at, made, attempts, next_at, finished_at, settled, replaying, replay = _padded(
        orjson.loads(packed), len(FromDelivery._fields)
    )
    return FromDelivery(
        status=STATUSES[status],
        happened_at=happened_at,
        attempts_made=made,
        attempts=tuple(attempt for attempt in map(_attempt, attempts) if attempt is not None),
        next_attempt_at=next_at,
        finished_at=finished_at,
        settled=bool(settled),
        replaying=bool(replaying),
        last_replay=Replay(*replay) if replay is not None else None,
    )


def _plain(attempt: Attempt | None) -> list[Any] | None:
    if attempt is None:
        return None
    number, started_at, duration_ms, outcome, *rest = attempt
    return _trimmed([number, started_at, duration_ms, _number(_OUTCOMES, outcome), *rest])


def _attempt(plain: list[Any] | None) -> Attempt | None:
    if plain is None:
        return None
    number, started_at, duration_ms, outcome, http_status, *rest = _padded(plain, 5)
    return Attempt(number, started_at, duration_ms, _name(_OUTCOMES, outcome), http_status, *rest)


def _packed(values: tuple[Any, ...]) -> bytes:
    return orjson.dumps(_trimmed(list(values)))


def _trimmed(values: list[Any]) -> list[Any]:
    """Remove trailing None and False."""
    while values and (values[-1] is None or values[-1] is False):
        values.pop()
    return values


def _padded(values: list[Any], length: int) -> list[Any]:
    return values + [None] * (length - len(values))


def _number(names: Mapping[str, int], name: str | None) -> int | None:
    return None if name is None else names[name]


def _name(names: Mapping[str, int], number: int | None) -> str | None:
    return None if number is None else list(names)[number]
