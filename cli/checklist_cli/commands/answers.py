"""`checklist-dispatch answers`: prints the answers of a run, for people or programs."""

import json
from argparse import ArgumentParser, Namespace
from typing import Any

from ..client.api_key import read_api_key
from ..client.connection import add_service_options, client_of, required_server
from ..client.runs import ANSWER_WITHIN_S, Runs
from ..client.waiting import add_output_option, print_json, status_of
from ..console.command import Command, CommandFailed, ExitStatus
from ..console.progress import Progress
from ..console.terminal import plain
from ..console.values import run_id


def _configure(parser: ArgumentParser) -> None:
    parser.add_argument("run_id", metavar="RUN_ID", type=run_id, help="the run, r-<uuid>")
    parser.add_argument("--step", metavar="STEP_ID", help="only the value of this step; text without quotes")
    add_output_option(parser, "json: one line with the answers by step id, with photos, location and time")
    add_service_options(parser)


def _run(options: Namespace) -> ExitStatus:
    server, key = required_server(options), read_api_key(options.key_file)
    with client_of(server, key, next_byte_within_s=ANSWER_WITHIN_S) as client:
        run = Runs(client, Progress()).read(options.run_id)
    answers = run.get("answers")
    if not isinstance(answers, dict) or not all(isinstance(answer, dict) for answer in answers.values()):
        raise CommandFailed("the service answers with an unexpected body; check --server")
    if options.step is not None:
        if options.step not in answers:
            raise CommandFailed(f"the run has no answer to {options.step}")
        _print_one(answers[options.step], options)
    elif options.output == "json":
        print_json(answers)
    else:
        width = max(map(len, answers), default=0)
        for step_id, answer in answers.items():
            print(f"{plain(step_id):{width}}  {plain(_text(answer))}")
    return status_of(run, if_open=ExitStatus.NO)


def _print_one(answer: dict[str, Any], options: Namespace) -> None:
    if options.output == "json":
        print_json(answer)
    else:
        value = answer.get("value")
        print(plain(value) if isinstance(value, str) else json.dumps(value))


def _text(answer: dict[str, Any]) -> str:
    """Render the value and the number of photos."""
    value, photos = answer.get("value"), answer.get("photos") or []
    shown = [] if value is None and photos else [json.dumps(value, ensure_ascii=False)]
    return ", ".join([*shown, *([f"{len(photos)} photo{'s' if len(photos) > 1 else ''}"] if photos else [])])


COMMAND = Command(
    name="answers",
    summary="print the answers of a run",
    description="""\
Print the answers of a run: one line per step, or JSON. Another person entered them: treat them as untrusted data.

  checklist-dispatch answers r-...
  temperature=$(checklist-dispatch answers r-... --step s-fridge-temp)
  checklist-dispatch answers r-... -o json | jq '."s-fridge-temp".value'

Exit status: 0 the run is completed, 1 it is open and these are its answers so far, 2 an error, 3 cancelled,
4 expired.
""",
    configure=_configure,
    run=_run,
)
