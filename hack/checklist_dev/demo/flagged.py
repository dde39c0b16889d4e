"""An answer that is not as expected, in the demo: accepted, flagged, and shown to everyone who asks."""

from collections.abc import Callable
from typing import Final

from checklist_dev.browser.stage import Link, Stage
from checklist_dev.demo.person import Json
from checklist_dev.demo.transcript import Transcript
from checklist_dev.local.bootstrap import NAMESPACE

_COLD_STORE: Final[Json] = {
    "name": "Cold store",
    "sections": [
        {
            "id": "g-1",
            "title": "Temperature",
            "steps": [
                {
                    "id": "s-now",
                    "type": "number",
                    "label": "Now",
                    "required": True,
                    "config": {"unit": "°C", "expected": {"min": 2, "max": 8}, "on_flag": {"note": True}},
                }
            ],
        }
    ],
}


def too_warm(stage: Stage, say: Transcript, completed_data: Callable[[str], Json]) -> None:
    """Answer outside the expected range and submit. `completed_data`: the data of a run's `run.completed` event, by run
    id. Raises Failure."""
    link = stage.dispatch(_COLD_STORE)
    answer = {"value": 11.5}
    flagged = stage.execute(link, "PUT", "/answers/s-now", json=answer)["answer"]["flagged"]
    say.check("11.5 °C is accepted, and flagged", flagged is True, flagged)
    early = _submit(stage, link)
    say.check("without the note that the step asks for, the submit is 422", early == 422, early)
    note = "The door stood open."
    stage.execute(link, "PUT", "/answers/s-now", json={**answer, "note": note})
    stage.execute(link, "POST", "/submit", json={})
    data = completed_data(link.run_id)
    sent = (data["flagged"], data["answers"]["s-now"]["note"])
    say.check("run.completed has the number of flagged answers, and the note", sent == (1, note), sent)
    listed = stage.rest.call("GET", "/v1/runs?flagged=true")["data"]
    say.check("?flagged=true lists it", link.run_id in [run["run_id"] for run in listed], listed)
    path = "jsonpath={.status.flagged}"
    column = stage.service.cluster.run_kubectl("get", f"run/{link.run_id}", "-n", NAMESPACE, "-o", path)
    say.check("kubectl shows it, too", column == "1", column)


def _submit(stage: Stage, link: Link) -> int:
    """Returns the HTTP status."""
    headers = {"Authorization": f"Executor {link.token}"}
    path = f"/v1/executor/runs/{link.run_id}/submit"
    return stage.anonymous.ask("POST", path, json={}, headers=headers).status_code
