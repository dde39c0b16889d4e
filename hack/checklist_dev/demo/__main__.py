"""`python -m checklist_dev.demo`: starts a service, does its main job, verifies it, and stops the service."""

import argparse
import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from checklist_dev.browser.stage import Stage
from checklist_dev.demo.scenario import Scenario
from checklist_dev.demo.transcript import Transcript
from checklist_dev.failures import end_on_signals, run_tool, say
from checklist_dev.repository import STATE, TEMPLATES

RETRY_GAPS = (1.0, 2.0, 3.0, 4.0)


@contextmanager
def _logs_kept_on_failure(logs: Path) -> Iterator[None]:
    """Keep the service's logs if a check fails."""
    try:
        yield
    except BaseException:
        kept = STATE / "demo-logs"
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(logs, kept)
        say(f"the logs of API and operator are in {kept}")
        raise


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m checklist_dev.demo",
        description="Run the main job on the examples: create, dispatch, answer, verify events; exit 0 if all pass.",
    )
    parser.parse_args()
    end_on_signals()
    transcript = Transcript()
    settings = {"CHECKLISTS_RETRY_GAPS": ",".join(f"{gap:g}" for gap in RETRY_GAPS)}
    with tempfile.TemporaryDirectory(prefix="checklist-demo-") as name:
        folder = Path(name)
        say("starting a temporary service")
        with Stage(folder, settings=settings, report=say) as stage, _logs_kept_on_failure(folder / "logs"):
            scenario = Scenario(stage, transcript, RETRY_GAPS)
            scenario.real_checklists(TEMPLATES)
            scenario.a_person_in_a_cellar(json.loads((TEMPLATES / "hotel-room-turnover.json").read_text()))
            scenario.retries()
            scenario.repeated_answer()
            scenario.expiry()
            scenario.cancellation()
            scenario.kubernetes()
            scenario.agent()
            scenario.kubectl_alone()
            scenario.quota()
    print(f"\nall {transcript.checks} checks passed", flush=True)
    return 0


if __name__ == "__main__":
    run_tool(main)
