"""Signing secrets of runs: sealed inside the run, or in a Secret that it refers to."""

import asyncio
import base64
import binascii
from typing import Any, Final

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeForbidden, KubeNotFound
from checklist_crds.resources.kinds import SECRET
from checklist_crds.resources.run import SecretRef, Webhook
from checklist_crds.secrets.sealing import KeyRing, SealBroken, run_owner
from checklist_operator.faults import LocalFault

SHORTEST: Final = 16
LONGEST: Final = 256
"""Characters (contract section 10)."""

_KEPT_FOR_S: Final = 10.0
_KEPT: Final = 1000


class SigningSecrets:
    """Reads secrets; caches those from the cluster for a few seconds, so that a rotation is noticed soon."""

    def __init__(self, client: KubeClient, key_ring: KeyRing) -> None:
        self._client = client
        self._key_ring = key_ring
        self._read: dict[tuple[str, str, str], tuple[float, bytes]] = {}

    async def of(self, namespace: str, run_id: str, webhook: Webhook) -> bytes:
        """Returns the key bytes. Raises LocalFault (SecretNotFound, SecretInvalid, SecretUnreadable) and KubeError."""
        if webhook.secret_ref is not None:
            return await self._referred(namespace, webhook.secret_ref)
        try:
            secret = self._key_ring.open(webhook.sealed_secret or "", owner=run_owner(namespace, run_id))
        except SealBroken as broken:
            raise LocalFault(
                "SecretUnreadable", f"the sealed secret of the webhook cannot be opened: {broken}"
            ) from None
        return _checked(secret, "the sealed secret")

    async def _referred(self, namespace: str, reference: SecretRef) -> bytes:
        key = (namespace, reference.name, reference.key)
        now = asyncio.get_running_loop().time()
        known = self._read.get(key)
        if known is not None and now - known[0] < _KEPT_FOR_S:
            return known[1]
        secret = await self._fetch(namespace, reference)
        if len(self._read) >= _KEPT:
            self._read.clear()
        self._read[key] = (now, secret)
        return secret

    async def _fetch(self, namespace: str, reference: SecretRef) -> bytes:
        where = f"key {reference.key!r} of Secret {reference.name!r}"
        try:
            body: dict[str, Any] = await self._client.get(SECRET, reference.name, namespace)
        except KubeNotFound:
            raise LocalFault("SecretNotFound", f"there is no Secret {reference.name!r} in this namespace") from None
        except KubeForbidden:
            raise LocalFault("SecretUnreadable", f"the operator may not read the Secret {reference.name!r}") from None
        encoded = (body.get("data") or {}).get(reference.key)
        if encoded is None:
            raise LocalFault("SecretNotFound", f"there is no {where}")
        try:
            secret = base64.b64decode(encoded, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            raise LocalFault("SecretInvalid", f"the {where} is not text in UTF-8") from None
        return _checked(secret, f"the {where}")


def _checked(secret: str, what: str) -> bytes:
    if not SHORTEST <= len(secret) <= LONGEST:
        raise LocalFault("SecretInvalid", f"{what} must have {SHORTEST} to {LONGEST} characters")
    return secret.encode()
