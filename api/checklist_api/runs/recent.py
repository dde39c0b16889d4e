"""Cache of runs that this process read or wrote a moment ago, kept fresh by the watch.

What is remembered may be older than the cluster's state, so it only serves to decide a write that the cluster takes on
condition that the run has not changed in between. Nothing is ever answered from here.
"""

from collections import OrderedDict
from typing import Final

from checklist_crds.kube.client import JsonObject
from checklist_crds.kube.informer import Key, key_of, version_of
from checklist_crds.resources.run import Run

_REMEMBERED: Final = 1_000


class RecentRuns:
    """By namespace and name, the newest state known; those that were not used for longest go first."""

    def __init__(self, remembered: int = _REMEMBERED) -> None:
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
        """After reading or writing it."""
        key = (run.namespace, run.name)
        known = self._runs.get(key)
        if known is None or _version(known) <= int(run.resource_version):
            self._runs[key] = run
        self._runs.move_to_end(key)
        while len(self._runs) > self._remembered:
            self._runs.popitem(last=False)

    def learn(self, change: str, body: JsonObject) -> None:
        """What the watch brought ("UPSERT" or "DELETE"); of no interest for a run that is not remembered."""
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
