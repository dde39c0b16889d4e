"""Scenes of `make chaos` as tests: each has a control plane of its own, with an etcd that waits for the disk."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from checklist_dev.faults.__main__ import SETTINGS
from checklist_dev.perf.judgement.transcript import Result, Transcript
from checklist_dev.perf.load.rig import Rig

AssertHeld = Callable[[Result], None]


@pytest.fixture
def transcript(tmp_path: Path) -> Transcript:
    return Transcript(tmp_path / "transcript.txt")


@pytest.fixture
async def rig(tmp_path: Path, transcript: Transcript) -> AsyncIterator[Rig]:
    """Started; logs stay in pytest's folder of the test."""
    made = Rig(tmp_path / "rig", fsync=True, settings=SETTINGS, report=transcript.say)
    try:
        await asyncio.to_thread(made.start)
        yield made
    finally:
        await asyncio.to_thread(made.stop)


@pytest.fixture
def assert_held(tmp_path: Path, transcript: Transcript) -> AssertHeld:
    """Fails with every broken promise, what broke it, and where the logs are."""

    def check(result: Result) -> None:
        transcript.report(result.findings)
        broken = [finding.as_json() for finding in result.findings if not finding.holds]
        lines = [f"{finding['name']}: {finding['examples']}" for finding in broken]
        assert not broken, "\n".join([*lines, f"figures {result.figures}", f"logs in {tmp_path}"])

    return check
