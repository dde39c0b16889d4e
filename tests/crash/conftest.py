"""Scenes of `make chaos` as tests: each has a control plane of its own, with an etcd that waits for the disk."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from checklist_dev.chaos.__main__ import SETTINGS
from checklist_dev.chaos.transcript import Result, Transcript
from checklist_dev.load.rig import Rig

Play = Callable[[], AbstractAsyncContextManager[Rig]]


@pytest.fixture
def transcript(tmp_path: Path) -> Transcript:
    return Transcript(tmp_path / "transcript.txt")


@pytest.fixture
def started_rig(tmp_path: Path, transcript: Transcript) -> Play:
    """`async with started_rig() as rig:`; logs stay in pytest's folder of the test."""

    @asynccontextmanager
    async def start() -> AsyncIterator[Rig]:
        rig = Rig(tmp_path / "rig", fsync=True, settings=SETTINGS, report=transcript.say)
        try:
            await asyncio.to_thread(rig.start)
            yield rig
        finally:
            await asyncio.to_thread(rig.stop)

    return start


@pytest.fixture
def assert_held(tmp_path: Path) -> Callable[[Result], None]:
    """Fails with every broken promise, what broke it, and where the logs are."""

    def check(result: Result) -> None:
        broken = [finding.as_json() for finding in result.findings if not finding.holds]
        lines = [f"{finding['name']}: {finding['examples']}" for finding in broken]
        assert not broken, "\n".join([*lines, f"figures {result.figures}", f"logs in {tmp_path}"])

    return check
