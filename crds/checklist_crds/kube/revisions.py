"""Template revisions: immutable, so a copy once read is right for ever."""

import contextlib
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

from ..template_types import Definition
from .client import KubeClient
from .errors import KubeAlreadyExists
from .kinds import TEMPLATE_REVISION

_KEPT: Final = 512
_BELIEVED_S: Final = 60.0


class RevisionStore:
    """Reads and makes TemplateRevisions; keeps the most recently used definitions in memory."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._definitions: OrderedDict[tuple[str, str], Definition] = OrderedDict()
        self._seen_at: dict[tuple[str, str], float] = {}

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
        """Make the revision unless it is there already.

        That it is there is believed for a minute: the operator collects a revision only when its template has been
        gone or newer for longer, but a template may come back as it was.
        """
        metadata = revision["metadata"]
        key = (metadata["namespace"], metadata["name"])
        if time.monotonic() - self._seen_at.get(key, float("-inf")) < _BELIEVED_S:
            return
        with contextlib.suppress(KubeAlreadyExists):
            await self._client.create(TEMPLATE_REVISION, revision, metadata["namespace"])
        self._remember(key, definition)
        self._seen_at[key] = time.monotonic()

    def forget(self, namespace: str, name: str) -> None:
        """The revision was deleted; the next dispatch makes it again."""
        self._definitions.pop((namespace, name), None)
        self._seen_at.pop((namespace, name), None)

    def _remember(self, key: tuple[str, str], definition: Definition) -> None:
        self._definitions[key] = definition
        self._definitions.move_to_end(key)
        while len(self._definitions) > _KEPT:
            oldest, _ = self._definitions.popitem(last=False)
            self._seen_at.pop(oldest, None)
