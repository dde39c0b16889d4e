"""A bounded cache whose entries expire. A value may be gone at any time."""

import asyncio
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class TTLCache(Generic[K, V]):
    """At most `maxsize` values, none older than `ttl_s` seconds; the one that was put first leaves first."""

    def __init__(self, maxsize: int, *, ttl_s: float = float("inf")) -> None:
        self._maxsize = maxsize
        self._ttl_s = ttl_s
        self._values: dict[K, tuple[float, V]] = {}

    def __len__(self) -> int:
        return len(self._values)

    def put(self, key: K, value: V) -> None:
        """Makes it the newest."""
        self._values.pop(key, None)
        self._values[key] = asyncio.get_running_loop().time(), value
        if len(self._values) > self._maxsize:
            del self._values[next(iter(self._values))]

    def get(self, key: K) -> V | None:
        put_at, value = self._values.get(key, (0.0, None))
        return value if asyncio.get_running_loop().time() - put_at <= self._ttl_s else None

    def pop(self, key: K) -> V | None:
        """Removes and returns the value."""
        value = self.get(key)
        self._values.pop(key, None)
        return value
