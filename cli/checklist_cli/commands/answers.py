"""`checklist-dispatch answers`: prints the answers of a run, for people or programs."""

from argparse import ArgumentParser, Namespace

from ..client.answer_text import print_answers, value_text
from ..client.connection import add_service_options
from ..client.run_commands import add_output_option, exit_status_of
from ..client.runs import connected_runs
from ..console.command import Command, CommandFailed, ExitStatus
from ..console.terminal import plain
from ..console.values import run_id


def _configure(parser: ArgumentParser) -> None:
    parser.add_argument("run_id", metavar="RUN_ID", type=run_id, help="the run, r-<uuid>")
    parser.add_argument("--step", metavar="STEP_ID", help="only the value of this step; text without quotes")
    add_output_option(parser, "json: one line with the answers by step id, with photos, location and time")
    add_service_options(parser)


def _run(options: Namespace) -> ExitStatus:
    with connected_runs(options) as runs:
        run = runs.read(options.run_id)
    answers = run.get("answers")
    if not isinstance(answers, dict) or not all(isinstance(answer, dict) for answer in answers.values()):
        raise CommandFailed("the service answers with an unexpected body; check --server")

    def print_all() -> None:
        width = max(map(len, answers), default=0)
        for step_id, answer in answers.items():
            print(f"{plain(step_id):{width}}  {plain(value_text(answer))}")

    print_answers(answers, step=options.step, as_json=options.output == "json", print_all=print_all)
    return exit_status_of(run, if_open=ExitStatus.NO)


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
