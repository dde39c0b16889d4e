"""Paused organizations and runs: their events are not sent, and their runs are not admitted.

Pauses are known from the watch, and from objects that controllers read before they write the condition. At the start of
a term the watch may show a run before its organization, which is then read from the cluster.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.platform.ttl_cache import TTLCache
from checklist_crds.resources.kinds import ORGANIZATION, Key, key_of, version_of
from checklist_crds.resources.pause import PAUSED, PAUSED_ANNOTATION, is_paused
from checklist_crds.values.json_text import JsonObject
from checklist_operator.faults import LocalFault

_MOST_RESUMED: Final = 10_000
_RESUMED_KEPT_S: Final = 600.0
"""Longer than a list of all runs takes."""


class Paused(LocalFault):
    """The run or organization is paused: no attempt is used up."""

    def __init__(self, what: str) -> None:
        super().__init__(PAUSED, f"{what} is paused (annotation {PAUSED_ANNOTATION}).")


class Pauses:
    """Observes organizations and unsettled runs; calls `on_resume` when one of them is resumed."""

    def __init__(self, client: KubeClient, *, on_resume: Callable[[], None]) -> None:
        self._client = client
        self._on_resume = on_resume
        self._organizations: dict[str, bool] = {}
        self._versions: dict[str, int] = {}
        """Newest resource version seen of each organization."""
        self._runs: dict[Key, int] = {}
        """Newest resource version seen of each paused run."""
        self._resumed: TTLCache[Key, int] = TTLCache(_MOST_RESUMED, ttl_s=_RESUMED_KEPT_S)
        """The same of runs that were resumed a short time ago: a list may still show an older state."""

    def observe_organization(self, type_: str | None, body: JsonObject) -> None:
        """Takes objects from the watch and from direct reads; ignores older versions than the newest."""
        name, version = str(body["metadata"]["name"]), version_of(body)
        if version < self._versions.get(name, 0):
            return
        self._versions[name] = version
        paused = type_ != "DELETED" and is_paused(body["metadata"])
        before = self._organizations.get(name)
        self._organizations[name] = paused
        if before and not paused:
            self._on_resume()

    def observe_run(self, type_: str | None, body: JsonObject) -> None:
        """Takes objects from the watch and from direct reads; ignores older versions than the newest."""
        key, version = key_of(body), version_of(body)
        if version < max(self._runs.get(key, 0), self._resumed.get(key) or 0):
            return
        if type_ != "DELETED" and is_paused(body["metadata"]):
            self._runs[key] = version
        elif self._runs.pop(key, None) is not None:
            self._resumed.put(key, version)
            self._on_resume()

    def check_known(self, run: Key, organization: str) -> None:
        """Raises Paused for what is known to be paused."""
        if run in self._runs:
            raise Paused("The run")
        if self._organizations.get(organization):
            raise Paused("The organization")

    async def check(self, run: Mapping[str, Any] | None, organization: str) -> None:
        """Raises Paused and KubeError. `run` as read."""
        if run is not None and is_paused(run["metadata"]):
            raise Paused("The run")
        if organization not in self._organizations:
            try:
                self.observe_organization(None, await self._client.get(ORGANIZATION, organization))
            except KubeNotFound:
                self._organizations.setdefault(organization, False)
        if self._organizations[organization]:
            raise Paused("The organization")
