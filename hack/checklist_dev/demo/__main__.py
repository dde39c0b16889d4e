"""`python -m checklist_dev.demo`: starts a service of its own, does the main job, checks everything, and ends it."""

import argparse
import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from checklist_dev.controlplane import ControlPlane
from checklist_dev.demo.receiver import Receiver
from checklist_dev.demo.scenario import Scenario
from checklist_dev.demo.transcript import Transcript
from checklist_dev.failures import end_on_signals, run_tool, say
from checklist_dev.local_service import LocalService
from checklist_dev.ports import free_ports
from checklist_dev.repository import STATE, TEMPLATES

SECRET = "a secret of the demo, chosen by the caller"  # noqa: S105 - it protects nothing
RETRY_GAPS = (1.0, 2.0, 3.0, 4.0)


@contextmanager
def _logs_kept_on_failure(logs: Path) -> Iterator[None]:
    """The service is thrown away, but what it said while a check failed is not."""
    try:
        yield
    except BaseException:
        kept = STATE / "demo-logs"
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(logs, kept)
        say(f"what API and operator said is in {kept}")
        raise


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m checklist_dev.demo",
        description="Run the main job on the examples: create, dispatch, answer, verify events; exit 0 if all held.",
    )
    parser.parse_args()
    end_on_signals()
    transcript = Transcript()
    with tempfile.TemporaryDirectory(prefix="checklist-demo-") as name:
        folder = Path(name)
        service = LocalService(
            folder,
            port=free_ports(1)[0],
            cluster=ControlPlane(folder / "controlplane", ephemeral=True),
            settings={"CHECKLISTS_RETRY_GAPS": ",".join(f"{gap:g}" for gap in RETRY_GAPS)},
        )
        say("starting a service of its own; it is thrown away at the end")
        with service, Receiver(SECRET) as receiver:
            headers = {"Authorization": f"Bearer {service.account.api_key}"}
            with (
                httpx.Client(base_url=service.base_url, headers=headers, timeout=30, trust_env=False) as rest,
                _logs_kept_on_failure(folder / "logs"),
            ):
                scenario = Scenario(
                    rest=rest,
                    receiver=receiver,
                    kubectl=service.cluster.run_kubectl,
                    transcript=transcript,
                    organization=service.account.organization_id,
                    retry_gaps=RETRY_GAPS,
                )
                scenario.real_checklists(TEMPLATES)
                scenario.a_person_in_a_cellar(json.loads((TEMPLATES / "hotel-room-turnover.json").read_text()))
                scenario.retries()
                scenario.replayed_answer()
                scenario.expiry()
                scenario.cancellation()
                scenario.kubernetes()
                scenario.quota()
    print(f"\nall {transcript.checks} checks held", flush=True)
    return 0


if __name__ == "__main__":
    run_tool(main)
