"""Template revisions: immutable, so a copy once read is right for ever."""

import contextlib
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

from ..template_types import Definition
from .client import KubeClient
from .errors import KubeAlreadyExists
from .kinds import TEMPLATE_REVISION

_KEPT: Final = 512


class RevisionStore:
    """Reads and makes TemplateRevisions; keeps the most recently used definitions in memory."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._definitions: OrderedDict[tuple[str, str], Definition] = OrderedDict()

    async def definition(self, namespace: str, name: str) -> Definition:
        """The snapshot. Raises KubeNotFound when somebody deleted it by hand."""
        key = (namespace, name)
        known = self._definitions.get(key)
        if known is None:
            body = await self._client.get(TEMPLATE_REVISION, name, namespace)
            known = Definition.model_validate(body["spec"]["definition"])
            self._remember(key, known)
        self._definitions.move_to_end(key)
        return known

    async def ensure(self, revision: Mapping[str, Any], definition: Definition) -> None:
        """Make the revision unless it is known or there already."""
        metadata = revision["metadata"]
        key = (metadata["namespace"], metadata["name"])
        if key in self._definitions:
            self._definitions.move_to_end(key)
            return
        with contextlib.suppress(KubeAlreadyExists):
            await self._client.create(TEMPLATE_REVISION, revision, metadata["namespace"])
        self._remember(key, definition)

    def forget(self, namespace: str, name: str) -> None:
        """The revision was deleted; the next dispatch makes it again."""
        self._definitions.pop((namespace, name), None)

    def _remember(self, key: tuple[str, str], definition: Definition) -> None:
        self._definitions[key] = definition
        while len(self._definitions) > _KEPT:
            self._definitions.popitem(last=False)
