"""Writes and deletes Secrets with links, without the right to read any Secret.

Who may create and read Secrets in a namespace can have a token of each of its ServiceAccounts made there, and read it.
So the operator has the verbs create, update and delete only (docs/security.md). Whether a Secret is the one of a run,
it finds out by updates: by uid where the run's status has it; else the API server refuses to change what is in an
immutable Secret, and accepts an update that changes nothing.
"""

import contextlib
import logging
from collections.abc import Sequence
from typing import Final

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeAlreadyExists, KubeConflict, KubeForbidden, KubeInvalid, KubeNotFound
from checklist_crds.resources.kinds import RUN, SECRET
from checklist_crds.resources.run import Run
from checklist_crds.runs.link_secret import LINK_SECRET_TYPE, is_left_over, link_secret, owner_of
from checklist_crds.times import Clock
from checklist_operator.runtime.json_logging import about

logger = logging.getLogger(__name__)

_ANOTHER_CONTENT: Final = "-"


class LinkRefused(Exception):
    """The run cannot have its Secret, for now: one CamelCase word, and a sentence without the link."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class LinkSecrets:
    def __init__(self, client: KubeClient) -> None:
        self._client = client

    async def ensure(self, run: Run, link: str) -> str:
        """The uid of the Secret that holds `link` and is owned by `run`; it is created if there is none.

        Raises LinkRefused and KubeError.
        """
        try:
            if run.status.link_secret_uid is not None and await self._keep(run, link, run.status.link_secret_uid):
                return run.status.link_secret_uid
            try:
                made = await self._client.create(SECRET, link_secret(run, link), run.namespace)
            except KubeAlreadyExists:
                return await self._adopt(run, link)
        except KubeForbidden:
            raise LinkRefused(
                "SecretsForbidden",
                "The operator may not write Secrets in this namespace (chart: linkSecrets.enabled), or the namespace "
                "takes no more of them.",
            ) from None
        except KubeInvalid:  # its text could repeat what was sent
            raise LinkRefused("SecretInvalid", "The API server refuses the Secret: is its name a valid one?") from None
        return str(made["metadata"]["uid"])

    async def remove(self, namespace: str, name: str, uid: str) -> None:
        """Deletes this very Secret, if it is there. Raises LinkRefused and KubeError."""
        try:
            await self._client.delete(SECRET, name, namespace, uid=uid)
        except (KubeNotFound, KubeConflict):  # gone, or another Secret of this name
            return
        except KubeForbidden:
            raise LinkRefused(
                "SecretsForbidden",
                f"The operator may not delete the Secret {name!r} any more. It goes with the run.",
            ) from None

    async def _keep(self, run: Run, link: str, uid: str) -> bool:
        """Whether the Secret with this uid is there and holds the link; now with this run as its owner."""
        wanted = link_secret(run, link, uid=uid)
        try:
            await self._client.replace(SECRET, wanted)
        except (KubeNotFound, KubeConflict):
            return False
        except KubeInvalid:  # an earlier link: the server key or the base URL has changed
            await self.remove(run.namespace, wanted["metadata"]["name"], uid)
            return False
        return True

    async def _adopt(self, run: Run, link: str) -> str:
        """The uid of a Secret that was created without a record of it, by an operator that ended in between."""
        wanted = link_secret(run, link)
        not_owned = LinkRefused(
            "SecretNotOwned",
            f"There is a Secret {wanted['metadata']['name']!r} that was not made for this run. Delete it, or give the "
            "run another name for its Secret.",
        )
        try:
            await self._client.replace(SECRET, link_secret(run, _ANOTHER_CONTENT), dry_run=True)
        except KubeInvalid:
            pass
        else:  # of this type, but not immutable: made by hand
            raise not_owned
        try:
            found = await self._client.replace(SECRET, wanted)
        except KubeInvalid:
            raise not_owned from None
        except KubeNotFound:  # deleted a moment ago
            raise KubeConflict(f"the Secret {wanted['metadata']['name']!r} was deleted meanwhile") from None
        return str(found["metadata"]["uid"])


class LinkSecretSweep:
    """Deletes Secrets whose run was deleted, or ended, while no operator ran.

    A garbage collector does the first by owner reference, so this is for clusters without one: it needs the right to
    list Secrets. Only metadata is requested.
    """

    def __init__(self, client: KubeClient, *, clock: Clock, namespaces: Sequence[str]) -> None:
        """`namespaces`: where to look; none is everywhere."""
        self._client = client
        self._secrets = LinkSecrets(client)
        self._clock = clock
        self._namespaces = tuple(namespaces)

    async def sweep(self) -> int:
        """How many were deleted. Raises KubeError; then the next sweep does it."""
        deleted = 0
        for namespace in self._namespaces or (None,):
            pages = self._client.pages(SECRET, namespace, field_selector=f"type={LINK_SECRET_TYPE}", metadata_only=True)
            async for bodies, _ in pages:
                for body in bodies:
                    metadata = body["metadata"]
                    owner = owner_of(body)
                    if owner is None:  # made by hand
                        continue
                    if is_left_over(body, await self._run(owner, metadata["namespace"]), self._clock()):
                        with contextlib.suppress(LinkRefused):
                            await self._secrets.remove(metadata["namespace"], metadata["name"], metadata["uid"])
                            deleted += 1
        if deleted:
            logger.info("link_secrets.removed", extra=about(count=deleted))
        return deleted

    async def _run(self, name: str, namespace: str) -> Run | None:
        try:
            return Run.parse(await self._client.get(RUN, name, namespace), answers=False)
        except KubeNotFound:
            return None
