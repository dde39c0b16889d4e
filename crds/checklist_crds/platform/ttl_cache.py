"""A bounded cache with expiring entries. A value may disappear at any time.

It also stores keys alone (`add`, `in`): recent look-ups, so that floods of unknown keys or ids, or of known ones while
no watch works, do not reach the cluster.
"""

import asyncio
from collections.abc import Hashable
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class TTLCache(Generic[K, V]):
    """At most `maxsize` values, none older than `ttl_s` seconds; evicts the oldest first."""

    def __init__(self, maxsize: int = 10_000, *, ttl_s: float = float("inf")) -> None:
        self._maxsize = maxsize
        self._ttl_s = ttl_s
        self._values: dict[K, tuple[float, V]] = {}

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: K) -> bool:
        found = self._values.get(key)
        return found is not None and asyncio.get_running_loop().time() - found[0] <= self._ttl_s

    def put(self, key: K, value: V) -> None:
        """Stores the value as the newest."""
        self._values.pop(key, None)
        self._values[key] = asyncio.get_running_loop().time(), value
        if len(self._values) > self._maxsize:
            del self._values[next(iter(self._values))]

    def add(self: "TTLCache[K, None]", key: K) -> None:
        self.put(key, None)

    def get(self, key: K) -> V | None:
        return self._values[key][1] if key in self else None

    def pop(self, key: K) -> V | None:
        value = self.get(key)
        self._values.pop(key, None)
        return value


def expiring_keys(seconds: float = 1.0) -> TTLCache[Any, None]:
    return TTLCache(ttl_s=seconds)
