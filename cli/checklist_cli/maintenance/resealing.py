"""Seals secrets of runs and passwords of accounts with the current key, while the service is running.

A sealed text names its key, so the objects themselves record the progress, and an interrupted resealing can be run
again. Writes are conditional on the resource version; a changed object is read again.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from checklist_crds.kube.client import KubeClient, retry_conflicts
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.resources.kinds import LOCAL_ACCOUNT, RUN, Kind
from checklist_crds.secrets.account_links import password_owner
from checklist_crds.secrets.sealing import KeyRing, SealBroken, run_owner, sealing_key_of
from checklist_crds.values.json_text import JsonObject

from ..backup.placing import patiently

NOT_SEALED: Final = "(not sealed)"
"""The key of a text that is not in the sealed form."""

_PASSES: Final = 5
_SHOWN: Final = 20


@dataclass(slots=True)
class Resealed:
    """Progress: `seen` sealed secrets in pass `number`; the other counts are of all passes."""

    number: int = 1
    seen: int = 0
    resealed: int = 0
    unreadable: int = 0


@dataclass(slots=True)
class Result:
    """The outcome. `left` counts, by key, secrets that are not sealed with the current key."""

    seen: int = 0
    resealed: int = 0
    left: Counter[str] = field(default_factory=Counter)
    unreadable: dict[str, str] = field(default_factory=dict)
    """Reasons by run, for the first 20."""
    is_still_used: bool = False
    """New runs kept arriving under an old key: a process still seals with it."""


class Resealing:
    """Writes `parallel` runs at a time, at most `per_second` per second (0: no limit)."""

    def __init__(
        self,
        client: KubeClient,
        ring: KeyRing,
        *,
        namespaces: Sequence[str] = (),
        parallel: int = 4,
        per_second: float = 0.0,
        report: Callable[[Resealed], None] = lambda _: None,
    ) -> None:
        self._client = client
        self._ring = ring
        self._namespaces: Sequence[str | None] = tuple(namespaces) or (None,)
        self._permits = asyncio.Semaphore(parallel)
        self._gap_s = 1 / per_second if per_second else 0.0
        self._next_write = 0.0
        self._report = report

    async def count(self) -> Counter[str]:
        """Count secrets by the key they are sealed with, without changes. Raises KubeError."""

        async def once() -> Counter[str]:
            keys: Counter[str] = Counter()
            async for page in self._pages():
                keys.update(_key_of(run.sealed) for run in page)
            return keys

        return await patiently(once)

    async def run(self) -> Result:
        """Reseal until a whole pass finds nothing to do. Raises KubeError; can be run again."""
        progress, result = Resealed(), Result()
        for number in range(1, _PASSES + 1):
            progress.number = number
            before = progress.resealed

            async def once() -> Counter[str]:
                progress.seen = 0
                result.unreadable.clear()
                return await self._one_pass(progress, result)

            result.left = await patiently(once)
            result.seen, result.resealed = progress.seen, progress.resealed
            if progress.resealed == before:
                return result
        result.is_still_used = True
        return result

    async def _one_pass(self, progress: Resealed, result: Result) -> Counter[str]:
        """Reseal once; counts unreadable secrets by key."""
        left: Counter[str] = Counter()

        async def one(run: "_Sealed") -> None:
            try:
                written = await self._reseal(run)
            except SealBroken as broken:
                left[_key_of(run.sealed)] += 1
                if len(result.unreadable) < _SHOWN:
                    result.unreadable[f"{run.namespace}/{run.name}"] = str(broken)
            else:
                progress.resealed += written
            progress.unreadable = left.total()

        async for page in self._pages():
            progress.seen += len(page)
            stale = [run for run in page if sealing_key_of(run.sealed) != self._ring.current]
            # Wait for all: a request may be executed even if its response is discarded.
            for fault in await asyncio.gather(*map(one, stale), return_exceptions=True):
                if fault is not None:
                    raise fault
            self._report(progress)
        return left

    async def _reseal(self, run: "_Sealed") -> bool:
        """Whether something was written. Raises SealBroken, KubeError."""
        just_listed = [run]

        async def attempt() -> bool:
            try:
                known = just_listed.pop() if just_listed else _Sealed.of(run.kind, await self._get(run))
                if known is None:
                    return False
                resealed = self._ring.reseal(known.sealed, owner=known.owner)
                if resealed == known.sealed:
                    return False
                await self._pace()
                patch = run.patch(resealed)
                await self._client.patch(run.kind, run.name, patch, run.namespace, resource_version=known.version)
            except KubeNotFound:  # deleted meanwhile
                return False
            return True

        async with self._permits:
            return bool(await patiently(lambda: retry_conflicts(attempt)))

    async def _get(self, run: "_Sealed") -> JsonObject:
        return await self._client.get(run.kind, run.name, run.namespace)

    async def _pace(self) -> None:
        now = asyncio.get_running_loop().time()
        start = self._next_write = max(now, self._next_write + self._gap_s)
        await asyncio.sleep(start - now)

    async def _pages(self) -> AsyncIterator[list["_Sealed"]]:
        for namespace in self._namespaces:
            for kind in (RUN, LOCAL_ACCOUNT):
                async for page, _ in self._client.pages(kind, namespace):
                    found = [sealed for sealed in (_Sealed.of(kind, body) for body in page) if sealed is not None]
                    if found:
                        yield found


@dataclass(frozen=True, slots=True)
class _Sealed:
    """The relevant fields of a run with a sealed secret, or of an account with a sealed password."""

    kind: Kind
    namespace: str
    name: str
    version: str
    sealed: str

    @classmethod
    def of(cls, kind: Kind, body: JsonObject) -> "_Sealed | None":
        """None without a sealed text. Reads the raw object: even an invalid one can have a secret."""
        spec, metadata = body.get("spec") or {}, body["metadata"]
        sealed = (spec.get("webhook") or {}).get("sealedSecret") if kind is RUN else spec.get("sealedPassword")
        return sealed and cls(kind, metadata["namespace"], metadata["name"], metadata["resourceVersion"], sealed)

    @property
    def owner(self) -> str:
        return run_owner(self.namespace, self.name) if self.kind is RUN else password_owner(self.namespace, self.name)

    def patch(self, sealed: str) -> JsonObject:
        return {"spec": {"webhook": {"sealedSecret": sealed}} if self.kind is RUN else {"sealedPassword": sealed}}


def _key_of(sealed: str) -> str:
    return sealing_key_of(sealed) or NOT_SEALED
