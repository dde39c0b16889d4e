"""A store that does something ahead of a step: the process is killed there, or another one begins."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from checklist_cli.backup.store import BackupStore
from checklist_crds.platform.object_store import StoredObject


class Stepping(BackupStore):
    """Calls `before` ahead of each step that it takes."""

    before: Callable[[], Awaitable[None]]

    async def put(self, key: str, content: bytes) -> None:
        await self.before()
        await super().put(key, content)

    async def get(self, key: str) -> bytes | None:
        await self.before()
        return await super().get(key)

    async def delete(self, keys: Sequence[str]) -> None:
        for key in keys:
            await self.before()
            await super().delete([key])

    async def _listed(self, prefix: str) -> AsyncIterator[StoredObject]:
        await self.before()
        async for found in super()._listed(prefix):
            yield found


class Killed(Exception):
    pass


async def die() -> None:
    raise Killed


def stepping(
    url: str, at: int, do: Callable[[], Awaitable[None]], *, from_then_on: bool = False
) -> tuple[Stepping, Callable[[], bool]]:
    """A store that does something ahead of its step number `at`, and whether it came to that."""
    store, steps = Stepping.open(url), 0

    async def before() -> None:
        nonlocal steps
        steps += 1
        if steps == at or (from_then_on and steps > at):
            await do()

    store.before = before
    return store, lambda: steps >= at
