"""A few values that were set last; what is older is forgotten, and nobody may rely on any of them being there."""

import asyncio
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Latest(Generic[K, V]):
    """At most `most` values, none of them older than `for_s` seconds."""

    def __init__(self, most: int, *, for_s: float = float("inf")) -> None:
        self._most = most
        self._for_s = for_s
        self._values: dict[K, tuple[float, V]] = {}

    def __len__(self) -> int:
        return len(self._values)

    def put(self, key: K, value: V) -> None:
        """As the newest."""
        self._values.pop(key, None)
        self._values[key] = asyncio.get_running_loop().time(), value
        if len(self._values) > self._most:
            del self._values[next(iter(self._values))]

    def get(self, key: K) -> V | None:
        put_at, value = self._values.get(key, (0.0, None))
        return value if asyncio.get_running_loop().time() - put_at <= self._for_s else None

    def pop(self, key: K) -> V | None:
        """The value, which is forgotten."""
        value = self.get(key)
        self._values.pop(key, None)
        return value
