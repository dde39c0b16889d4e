"""Cache of runs that this process recently read or wrote, updated by the watch.

Cached runs may be stale, so they are used for compare-and-swap writes only, never for reads.
"""

from typing import Final

from checklist_crds.platform.weighted_lru import WeightedLru, weight_of
from checklist_crds.resources.kinds import Key, key_of, version_of
from checklist_crds.resources.run import Run
from checklist_crds.values.json_text import JsonObject

_BYTES: Final = 24 * 1024**2
"""Bytes of JSON of all cached runs. Parsed, texts take two to eight times that."""
_RUNS: Final = 1_000


class RecentRuns:
    """LRU cache of the newest known states by namespace and name: at most `runs`, and fewer if they are large."""

    def __init__(self, *, runs: int = _RUNS, capacity: int = _BYTES) -> None:
        self._least = capacity // runs
        self._runs: WeightedLru[Key, JsonObject | Run] = WeightedLru(capacity)

    def __len__(self) -> int:
        return len(self._runs)

    def get(self, key: Key) -> Run | None:
        known = self._runs.get(key)
        if known is None or isinstance(known, Run):
            return known
        run = Run.parse(known)
        self._put(key, run)
        return run

    def put(self, run: Run) -> None:
        """Add a run that was read or written."""
        key = (run.namespace, run.name)
        known = self._runs.get(key)
        if known is None or _version(known) <= int(run.resource_version):
            self._put(key, run)

    def apply(self, change: str, body: JsonObject) -> None:
        """Apply a watch event ("UPSERT" or "DELETE") to a cached run."""
        key = key_of(body)
        known = self._runs.get(key)
        if known is None:
            return
        if change == "DELETE":
            self._runs.discard(key)
        elif version_of(body) > _version(known):
            self._put(key, body)

    def _put(self, key: Key, known: JsonObject | Run) -> None:
        stored = known.stored if isinstance(known, Run) else known.get("status") or {}
        self._runs.put(key, known, max(self._least, weight_of(stored)))


def _version(known: JsonObject | Run) -> int:
    return int(known.resource_version) if isinstance(known, Run) else version_of(known)
