"""No lost update with several replicas: a short load on real processes."""

from pathlib import Path

from checklist_dev.faults.replicas.scene import mixed_operations
from checklist_dev.perf.judgement.transcript import Transcript
from checklist_dev.perf.load.rig import Rig


async def test_four_replicas_lose_no_update(tmp_path: Path) -> None:
    transcript = Transcript(tmp_path / "transcript.txt")
    with Rig(tmp_path / "rig", fsync=False, report=transcript.say) as rig:
        result = await mixed_operations(rig, transcript, operations=2_000, seed=20_261_122)
    transcript.report(result.findings)
    assert result.holds, [finding.as_json() for finding in result.findings if not finding.holds]
    assert result.figures["writes_acknowledged"] >= 300
    assert all(finding.checked > 0 for finding in result.findings)
