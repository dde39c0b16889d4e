"""Writes and deletes Secrets with links, without permission to read any Secret.

A client that can create and read Secrets in a namespace can obtain a token of each of its ServiceAccounts. So the
operator has only the verbs create, update and delete (docs/security.md). By an update it checks whether a Secret
belongs to a run: by uid if the run's status has it; otherwise by the content, because the API server refuses to change
an immutable Secret and accepts an update without changes.
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

_OTHER_CONTENT: Final = "-"


class LinkRefused(Exception):
    """The Secret cannot be written for now. `reason` in CamelCase and `message` never contain the link."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class LinkSecrets:
    def __init__(self, client: KubeClient) -> None:
        self._client = client

    async def ensure(self, run: Run, link: str) -> str:
        """Create or keep the Secret that contains `link` and is owned by `run`; returns its uid.

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
                "The operator has no permission to write Secrets in this namespace (chart value linkSecrets.enabled), "
                "or a ResourceQuota is exhausted.",
            ) from None
        except KubeInvalid:  # its message could contain the link
            raise LinkRefused("SecretInvalid", "The API server rejected the Secret. Check its name.") from None
        return str(made["metadata"]["uid"])

    async def remove(self, namespace: str, name: str, uid: str) -> None:
        """Delete the Secret with this uid, if it exists. Raises LinkRefused and KubeError."""
        try:
            await self._client.delete(SECRET, name, namespace, uid=uid)
        except (KubeNotFound, KubeConflict):  # deleted, or replaced by another Secret
            return
        except KubeForbidden:
            raise LinkRefused(
                "SecretsForbidden",
                f"The operator has no permission to delete the Secret {name!r}. It is deleted with the run.",
            ) from None

    async def _keep(self, run: Run, link: str, uid: str) -> bool:
        """Update the Secret with this uid; returns whether it exists with the link and this run as its owner."""
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
        """Return the uid of a Secret that was created, but not recorded, before the operator crashed."""
        wanted = link_secret(run, link)
        not_owned = LinkRefused(
            "SecretNotOwned",
            f"The Secret {wanted['metadata']['name']!r} exists and does not belong to this run. Delete it, or create "
            "the run with another name in linkSecretRef.",
        )
        try:
            await self._client.replace(SECRET, link_secret(run, _OTHER_CONTENT), dry_run=True)
        except KubeInvalid:
            pass
        else:  # has the type, but is not immutable: created by a user
            raise not_owned
        try:
            found = await self._client.replace(SECRET, wanted)
        except KubeInvalid:
            raise not_owned from None
        except KubeNotFound:  # deleted concurrently
            raise KubeConflict(f"the Secret {wanted['metadata']['name']!r} was deleted concurrently") from None
        return str(found["metadata"]["uid"])


class LinkSecretSweep:
    """Deletes Secrets whose run ended or was deleted while no operator was running.

    For clusters without a garbage collector, which deletes the Secrets of deleted runs. It needs permission to list
    Secrets, and requests only their metadata.
    """

    def __init__(self, client: KubeClient, *, clock: Clock, namespaces: Sequence[str]) -> None:
        """`namespaces`: empty for all."""
        self._client = client
        self._secrets = LinkSecrets(client)
        self._clock = clock
        self._namespaces = tuple(namespaces)

    async def sweep(self) -> int:
        """Delete them; returns how many. Raises KubeError; the next sweep starts again."""
        deleted = 0
        for namespace in self._namespaces or (None,):
            pages = self._client.pages(SECRET, namespace, field_selector=f"type={LINK_SECRET_TYPE}", metadata_only=True)
            async for bodies, _ in pages:
                for body in bodies:
                    metadata = body["metadata"]
                    owner = owner_of(body)
                    if owner is None:  # created by a user
                        continue
                    try:
                        run = await self._run(owner, metadata["namespace"])
                    except ValueError:  # unreadable: its Secret stays
                        continue
                    if is_left_over(body, run, self._clock()):
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
