"""Cache of runs that this process recently read or wrote, updated by the watch.

Cached runs may be stale, so they are used for compare-and-swap writes only, never for reads.
"""

from collections import OrderedDict
from typing import Final

from checklist_crds.resources.kinds import Key, key_of, version_of
from checklist_crds.resources.run import Run
from checklist_crds.values.json_text import JsonObject

_SIZE: Final = 1_000


class RecentRuns:
    """LRU cache of the newest known states by namespace and name."""

    def __init__(self, remembered: int = _SIZE) -> None:
        self._remembered = remembered
        self._runs: OrderedDict[Key, JsonObject | Run] = OrderedDict()

    def __len__(self) -> int:
        return len(self._runs)

    def get(self, key: Key) -> Run | None:
        known = self._runs.get(key)
        if known is None:
            return None
        run = known if isinstance(known, Run) else Run.parse(known)
        self._runs[key] = run
        self._runs.move_to_end(key)
        return run

    def put(self, run: Run) -> None:
        """Add a run that was read or written."""
        key = (run.namespace, run.name)
        known = self._runs.get(key)
        if known is None or _version(known) <= int(run.resource_version):
            self._runs[key] = run
        self._runs.move_to_end(key)
        while len(self._runs) > self._remembered:
            self._runs.popitem(last=False)

    def apply(self, change: str, body: JsonObject) -> None:
        """Apply a watch event ("UPSERT" or "DELETE") to a cached run."""
        key = key_of(body)
        known = self._runs.get(key)
        if known is None:
            return
        if change == "DELETE":
            del self._runs[key]
        elif version_of(body) > _version(known):
            self._runs[key] = body


def _version(known: JsonObject | Run) -> int:
    return int(known.resource_version) if isinstance(known, Run) else version_of(known)
