"""Deletes unused TemplateRevisions: no run refers to them, and they are not among the newest versions of a template.

A dispatch that has just read the template may be about to use a revision. So a revision is deleted only if two sweeps,
a grace period apart, found it unused and unchanged.
"""

import logging
from collections import defaultdict
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from attrs import Factory, define, field

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeConflict, KubeNotFound
from checklist_crds.kube.revisions import RevisionStore
from checklist_crds.resources.kinds import RUN, TEMPLATE, TEMPLATE_REVISION, Key, key_of
from checklist_crds.resources.run_id import resolved_of
from checklist_crds.resources.template import TemplateMeta
from checklist_crds.times import Clock
from checklist_crds.values.json_text import JsonObject
from checklist_operator.runtime.json_logging import about
from checklist_operator.runtime.paging import pages

logger = logging.getLogger(__name__)

KEPT_VERSIONS: Final = 50
"""Kept versions per template, including the current one, in addition to those that runs use."""


@define(kw_only=True, eq=False, repr=False, slots=False)
class RevisionCollector:
    """Sweeps all revisions; reads runs only if a revision could be deleted."""

    _client: KubeClient
    _store: RevisionStore
    _clock: Clock
    _grace_s: float
    _kept: int = KEPT_VERSIONS
    _namespaces: tuple[str, ...]
    _on_removed: Callable[[str], None]
    _grace: timedelta = field(
        default=Factory(lambda self: timedelta(seconds=self._grace_s), takes_self=True), init=False
    )
    _unused_since: dict[tuple[Key, str], datetime] = field(factory=dict, init=False)

    async def sweep(self) -> int:
        """Returns the number of deleted revisions. Raises KubeError; the next sweep continues."""
        began = self._clock()
        unused = await self._superseded()
        if unused:
            await self._keep_referred(unused)
        found = {(key, version): self._unused_since.get((key, version), began) for key, version in unused.items()}
        ripe = [(key, version) for (key, version), since in found.items() if began - since >= self._grace]
        self._unused_since = found
        deleted = 0
        for key, version in ripe:
            deleted += await self._delete(key, version)
            self._unused_since.pop((key, version), None)
        return deleted

    async def _superseded(self) -> dict[Key, str]:
        """Returns revisions that are neither current nor kept as history, with their resource versions."""
        current: dict[tuple[str, str], int] = {}
        async for page in pages(self._client, TEMPLATE, self._namespaces):
            for body in page:
                meta = TemplateMeta.of(body)
                current[meta.organization, meta.id] = max(meta.version, current.get((meta.organization, meta.id), 0))
        found: dict[Key, str] = {}
        earlier: defaultdict[tuple[str, str], list[tuple[int, Key]]] = defaultdict(list)
        async for page in pages(self._client, TEMPLATE_REVISION, self._namespaces):
            for body in page:
                spec, key = body["spec"], key_of(body)
                template = spec["organizationRef"]["name"], spec["templateId"]
                if current.get(template) != spec["version"]:
                    found[key] = body["metadata"]["resourceVersion"]
                    if spec["version"] < current.get(template, 0):
                        earlier[template].append((spec["version"], key))
        for versions in earlier.values():
            newest = set(sorted({number for number, _ in versions}, reverse=True)[: self._kept - 1])
            for number, key in versions:
                if number in newest:
                    del found[key]
        return found

    async def _keep_referred(self, unused: dict[Key, str]) -> None:
        async for page in pages(self._client, RUN, self._namespaces):
            for body in page:
                name = _revision_of(body)
                if name is not None:
                    unused.pop((body["metadata"]["namespace"], name), None)
            if not unused:
                return

    async def _delete(self, key: Key, version: str) -> int:
        try:
            await self._client.delete(TEMPLATE_REVISION, key[1], key[0], resource_version=version)
        except (KubeNotFound, KubeConflict):
            return 0
        self._store.forget(*key)
        self._on_removed(TEMPLATE_REVISION.kind)
        logger.info("revision.removed", extra=about(revision=key[1]))
        return 1


def _revision_of(run: JsonObject) -> str | None:
    resolved = resolved_of(run)
    return str(resolved["revisionRef"]["name"]) if resolved else None
