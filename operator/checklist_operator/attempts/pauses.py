"""What is paused: an organization with all of its runs, or one run. Nothing of it is sent, nor is a run of it admitted.

Known from the watch, and from what a controller has read before it writes that it is paused. In the first moments of a
term the watch may bring a run before its organization, which the cluster is then asked for: an event that has left
cannot be called back.
"""

from collections.abc import Callable, Mapping
from typing import Any

from checklist_crds.kube.client import JsonObject, KubeClient
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.kube.informer import Key, key_of, version_of
from checklist_crds.resources.kinds import ORGANIZATION
from checklist_crds.resources.pause import PAUSED, PAUSED_ANNOTATION, is_paused
from checklist_operator.faults import LocalFault


class Held(LocalFault):
    """It waits for the end of a pause: no attempt is used up, and nothing is wrong."""

    def __init__(self, what: str) -> None:
        super().__init__(PAUSED, f"{what} is paused (annotation {PAUSED_ANNOTATION}).")


class Pauses:
    """Shown every organization and every unsettled run; `on_resume` is called when one of them goes on."""

    def __init__(self, client: KubeClient, *, on_resume: Callable[[], None]) -> None:
        self._client = client
        self._on_resume = on_resume
        self._organizations: dict[str, bool] = {}
        self._versions: dict[str, int] = {}
        """Of each organization, the newest resource version that was seen."""
        self._runs: dict[Key, int] = {}
        """Of each paused run, the newest resource version that was seen of it."""

    def observe_organization(self, type_: str | None, body: JsonObject) -> None:
        """Shown by the watch, and by whoever has read it anew: what is older than what was seen changes nothing."""
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
        """Shown by the watch, and by whoever has read it anew, as organizations are."""
        key, version = key_of(body), version_of(body)
        if version < self._runs.get(key, 0):
            return
        if type_ != "DELETED" and is_paused(body["metadata"]):
            self._runs[key] = version
        elif self._runs.pop(key, None) is not None:
            self._on_resume()

    def check_known(self, run: Key, organization: str) -> None:
        """Raises Held for what the watch has shown to be paused."""
        if run in self._runs:
            raise Held("The run")
        if self._organizations.get(organization):
            raise Held("The organization")

    async def check(self, run: Mapping[str, Any] | None, organization: str) -> None:
        """Raises Held, and KubeError. `run` as it was read."""
        if run is not None and is_paused(run["metadata"]):
            raise Held("The run")
        if organization not in self._organizations:
            try:
                self.observe_organization(None, await self._client.get(ORGANIZATION, organization))
            except KubeNotFound:
                self._organizations.setdefault(organization, False)
        if self._organizations[organization]:
            raise Held("The organization")
