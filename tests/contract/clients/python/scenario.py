"""Complete a checklist with the client from openapi-python-client: template, dispatch, answer, wait, read.

Reads `{"base_url", "key", "photo"}` (the photo in base64) from standard input and prints its results as JSON.
"""

import base64
import io
import json
import sys
import time
from typing import TypeVar

from checklist_dispatch_client import AuthenticatedClient
from checklist_dispatch_client.api.executor import add_photo, put_answer, submit_run
from checklist_dispatch_client.api.runs import dispatch_run, get_run, get_run_answer_schema
from checklist_dispatch_client.api.templates import create_template
from checklist_dispatch_client.models import (
    AnswerRequest,
    Condition,
    DefinitionInput,
    DispatchRequest,
    Error,
    Operator,
    PhotoBoundsInput,
    Run,
    RunStatus,
    SectionInput,
    StepInput,
    StepType,
    SubmitRequest,
    When,
)
from checklist_dispatch_client.types import File, Unset

T = TypeVar("T")
UNKNOWN = "r-00000000-0000-4000-8000-000000000000"


def must(answer: T | Error | None) -> T:
    if answer is None or isinstance(answer, Error):
        raise SystemExit(f"refused: {answer}")
    return answer


def wait(client: AuthenticatedClient, run_id: str) -> Run:
    for _ in range(600):
        run = must(get_run.sync(run_id, client=client))
        if run.status not in {RunStatus.PENDING, RunStatus.IN_PROGRESS}:
            return run
        time.sleep(0.1)
    raise SystemExit("the run did not end")


def main() -> None:
    given = json.load(sys.stdin)
    owner = AuthenticatedClient(base_url=given["base_url"], token=given["key"])
    why = Condition(when=When(step="s-clean", op=Operator.EQ, value=False))
    steps = [
        StepInput(id="s-clean", type_=StepType.BOOLEAN, label="Is it clean?", required=True),
        StepInput(id="s-why", type_=StepType.TEXT, label="Why not?", required=True, condition=why),
        StepInput(id="s-temp", type_=StepType.NUMBER, label="Temperature"),
        StepInput(id="s-shelf", type_=StepType.BOOLEAN, label="Shelf", photo=PhotoBoundsInput(min_=1, max_=2)),
    ]
    sections = [SectionInput(id="g-all", title="Kitchen", steps=steps)]
    template = must(create_template.sync(client=owner, body=DefinitionInput(name="Opening check", sections=sections)))
    body = DispatchRequest(template_id=template.id, executor_ref="python", expires_in_hours=1.5)
    run = must(dispatch_run.sync(client=owner, body=body, idempotency_key="python-1"))

    token = run.link.partition("#")[2]
    executor = AuthenticatedClient(base_url=given["base_url"], token=token, prefix="Executor")
    for step_id, value in (("s-clean", False), ("s-why", "The drain"), ("s-temp", 21.123456789), ("s-shelf", True)):
        must(put_answer.sync(run.run_id, step_id, client=executor, body=AnswerRequest(value=value, op_id=step_id)))
    image = File(payload=io.BytesIO(base64.b64decode(given["photo"])))
    must(add_photo.sync(run.run_id, "s-shelf", client=executor, body=image, op_id_query="photo"))
    must(submit_run.sync(run.run_id, client=executor, body=SubmitRequest()))

    ended = wait(owner, run.run_id)
    schema = must(get_run_answer_schema.sync(run.run_id, client=owner))
    missing = get_run.sync(UNKNOWN, client=owner)
    first = template.sections[0].steps[1].condition
    if isinstance(first, Unset) or not isinstance(first.when.step, str):
        raise SystemExit("the condition was not read")
    print(
        json.dumps(
            {
                "run_id": ended.run_id,
                "status": ended.status.value,
                "source": first.when.step,
                "values": {step_id: answer.value for step_id, answer in ended.answers.additional_properties.items()},
                "photos": len(ended.answers["s-shelf"].photos),
                "completed": ended.completed_at is not None,
                "schema": schema.to_dict(),
                "refusal": missing.error if isinstance(missing, Error) else None,
            }
        )
    )


main()
