"""Seals secrets of runs and passwords of accounts anew, under the current key, while the service goes on.

What is done is in the objects themselves (a sealed secret names its key), so nothing is lost when this is stopped: it
goes on where it was when it is started again. An object is written on condition that nobody wrote in between, like
every other change of it; one that did change is read again.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from checklist_crds.kube.client import JsonObject, KubeClient, retry_conflicts
from checklist_crds.kube.errors import KubeGone, KubeNotFound, KubeUnavailable
from checklist_crds.resources.kinds import LOCAL_ACCOUNT, RUN, Kind
from checklist_crds.secrets.account_links import password_owner
from checklist_crds.secrets.sealing import KeyRing, SealBroken, run_owner, sealing_key_of

NOT_SEALED: Final = "(not sealed)"
"""Stands for the key of a text that has not the form of a sealed one."""

_PASSES: Final = 5
_SHOWN: Final = 20
_CLUSTER_MAY_PAUSE_S: Final = (0.5, 1.0, 2.0, 4.0, 8.0)

T = TypeVar("T")


@dataclass(slots=True)
class Resealed:
    """Counts so far: `seen` runs with a sealed secret in pass number `number`, the others in all passes."""

    number: int = 1
    seen: int = 0
    resealed: int = 0
    unreadable: int = 0


@dataclass(slots=True)
class Result:
    """How it ended. `left` counts, by key, secrets that are not under the current key."""

    seen: int = 0
    resealed: int = 0
    left: Counter[str] = field(default_factory=Counter)
    unreadable: dict[str, str] = field(default_factory=dict)
    """Why, by run; the first 20 of them."""
    is_still_used: bool = False
    """New runs came under an old key all the time: some process still seals with it."""


class Resealing:
    """`parallel` runs are written at a time, at most `per_second` in a second (0: as fast as it goes)."""

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
        """Runs by the key that their secret is sealed under. Writes nothing. Raises KubeError."""

        async def once() -> Counter[str]:
            keys: Counter[str] = Counter()
            async for page in self._pages():
                keys.update(_key_of(run.sealed) for run in page)
            return keys

        return await _patiently(once)

    async def run(self) -> Result:
        """Until a whole pass over all runs finds nothing to do. Raises KubeError, after which it may be run again."""
        progress, result = Resealed(), Result()
        for number in range(1, _PASSES + 1):
            progress.number = number
            before = progress.resealed

            async def once() -> Counter[str]:
                progress.seen = 0
                result.unreadable.clear()
                return await self._one_pass(progress, result)

            result.left = await _patiently(once)
            result.seen, result.resealed = progress.seen, progress.resealed
            if progress.resealed == before:
                return result
        result.is_still_used = True
        return result

    async def _one_pass(self, progress: Resealed, result: Result) -> Counter[str]:
        """What could not be sealed anew, by key."""
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
            # Each comes to its own end: a write whose answer is thrown away may still happen.
            for fault in await asyncio.gather(*map(one, stale), return_exceptions=True):
                if fault is not None:
                    raise fault
            self._report(progress)
        return left

    async def _reseal(self, run: "_Sealed") -> bool:
        """Whether something had to be written. Raises SealBroken, KubeError."""
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
            return bool(await _patiently(lambda: retry_conflicts(attempt)))

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
    """The part that matters here of a run with a sealed secret, or of an account with a sealed password."""

    kind: Kind
    namespace: str
    name: str
    version: str
    sealed: str

    @classmethod
    def of(cls, kind: Kind, body: JsonObject) -> "_Sealed | None":
        """None where nothing is sealed. Reads the bare object: one that no model takes has a secret, too."""
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


async def _patiently(attempt: Callable[[], Awaitable[T]]) -> T:
    """`attempt` again while the cluster takes a pause. Raises KubeUnavailable when that lasts."""
    for pause_s in _CLUSTER_MAY_PAUSE_S:
        try:
            return await attempt()
        except (KubeUnavailable, KubeGone):  # gone: the list that was being read is too old to be read on
            await asyncio.sleep(pause_s)
    return await attempt()
