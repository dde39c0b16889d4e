"""An LRU cache bounded by the weight of its values.

Objects of tenants differ in size by a factor of a thousand, so a bound on their number does not bound memory.
"""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Final, Generic, TypeVar

from ..values.json_text import to_json

BODY_BYTES: Final = 2 * 1024**2
"""Bytes of JSON in one cache of whole bodies. Parsed, they take up to forty times that, so at most about 80 MiB."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class WeightedLru(Generic[K, V]):
    """Keeps the most recently used values with a total weight of at most `capacity`."""

    def __init__(self, capacity: int = BODY_BYTES) -> None:
        self._capacity = capacity
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._weight = 0

    def get(self, key: K) -> V | None:
        found = self._values.get(key)
        if found is None:
            return None
        self._values.move_to_end(key)
        return found[0]

    def put(self, key: K, value: V, weight: int) -> None:
        """Stores a value; one heavier than the capacity is kept alone, until the next one."""
        self.discard(key)
        self._values[key] = value, weight
        self._weight += weight
        while self._weight > self._capacity and len(self._values) > 1:
            _, (_, oldest) = self._values.popitem(last=False)
            self._weight -= oldest

    def discard(self, key: K) -> None:
        found = self._values.pop(key, None)
        if found is not None:
            self._weight -= found[1]

    def __contains__(self, key: K) -> bool:
        return key in self._values

    def __len__(self) -> int:
        return len(self._values)


def weight_of(document: object) -> int:
    """Returns the size of a document as compact JSON, in bytes."""
    return len(to_json(document))
