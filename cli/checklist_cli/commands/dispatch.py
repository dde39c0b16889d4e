"""`checklist-dispatch dispatch`: dispatches a run, prints its link, and with --wait waits for its end.

With --csv it dispatches a run for each row of a table (`dispatch_many`).
"""

from argparse import ArgumentParser, Namespace
from typing import Any, Final

from ..client.connection import add_service_options
from ..client.run_commands import add_output_option, add_wait_options, print_json, wait_and_print
from ..client.runs import connected_runs, new_idempotency_key
from ..console.command import Command, CommandFailed, ExitStatus
from ..console.values import duration, template_id
from ..receiver.secret_source import add_secret_options, read_secret
from .dispatch_many import EXIT_STATUSES, add_table_options, dispatch_table, refuse_table_options

_HOUR_S: Final = 3_600


def _configure(parser: ArgumentParser) -> None:
    parser.add_argument("template", metavar="TEMPLATE_ID", type=template_id, help="the template, t-<uuid>")
    parser.add_argument("--ref", metavar="TEXT", help="executor_ref: your own reference, returned in reads and events")
    parser.add_argument(
        "--expires", metavar="TIME", type=duration, help="when the link expires, as 30m, 4h or 2d (default: never)"
    )
    parser.add_argument(
        "--idempotency-key",
        metavar="KEY",
        help="for a step that may be repeated: a key creates one run within 24 hours (default: a new key)",
    )
    add_output_option(parser, "json: one line with the response of POST /v1/runs; with --wait also one with the run")
    add_service_options(parser)
    hook = parser.add_argument_group("the webhook")
    hook.add_argument("--webhook", metavar="URL", help="endpoint for the events of the run; needs a secret")
    hook.add_argument(
        "--events", metavar="NAMES", help="comma-separated events, as run.completed,run.cancelled (default: all)"
    )
    add_secret_options(parser)
    waiting = parser.add_argument_group("waiting")
    waiting.add_argument("--wait", action="store_true", help="wait for the end of the run")
    add_wait_options(parser)
    add_table_options(parser)


def _run(options: Namespace) -> ExitStatus:
    if options.csv is not None:
        return dispatch_table(options, webhook=_webhook(options))
    refuse_table_options(options)
    if not options.wait and (options.timeout is not None or options.cancel_on_interrupt):
        raise CommandFailed("--timeout and --cancel-on-interrupt need --wait")
    body = _body(options)
    with connected_runs(options) as runs:
        dispatched = runs.dispatch(body, options.idempotency_key or new_idempotency_key())
        if options.output == "json":
            print_json(dispatched)
        else:
            print(f"{dispatched['run_id']}\n{dispatched['link']}", flush=True)
        return wait_and_print(runs, dispatched["run_id"], options) if options.wait else ExitStatus.YES


def _body(options: Namespace) -> dict[str, Any]:
    """Build the body of POST /v1/runs. Raises CommandFailed."""
    body: dict[str, Any] = {"template_id": options.template}
    if options.ref is not None:
        body["executor_ref"] = options.ref
    if options.expires is not None:
        body["expires_in_hours"] = options.expires / _HOUR_S
    webhook = _webhook(options)
    if webhook is not None:
        body["webhook"] = webhook
    return body


def _webhook(options: Namespace) -> dict[str, Any] | None:
    """The webhook of the options. Of a table it may have no URL, if rows have them. Raises CommandFailed."""
    has_secret = options.secret_file or options.secret_env or options.secret
    if options.webhook is None and (options.csv is None or not has_secret):
        if options.events is not None or has_secret:
            raise CommandFailed("--events and a secret need --webhook")
        return None
    events = ["*"] if options.events is None else [name.strip() for name in options.events.split(",")]
    return {"url": options.webhook, "secret": read_secret(options).decode(), "events": events}


COMMAND = Command(
    name="dispatch",
    summary="dispatch a run, print its link, optionally wait for its end",
    description="""\
Dispatch a run of a template with an API key, and print its id and its link. Anyone with the link can answer the run.

  checklist-dispatch dispatch t-... --ref "order 4711" --expires 4h
  checklist-dispatch dispatch t-... --wait --timeout 1h -o json
  checklist-dispatch dispatch t-... --webhook https://hooks.example.com/hook --secret-file secret.txt
  checklist-dispatch dispatch t-... --csv rooms.csv --expires 7d

Retries use the same Idempotency-Key, so they create one run. With --wait, Ctrl-C leaves the run open; with
--cancel-on-interrupt it cancels the run.

Exit status: 0 dispatched, or with --wait completed; 2 an error, 3 cancelled, 4 expired, 5 still open after --timeout,
130 interrupted.

"""
    + EXIT_STATUSES,
    configure=_configure,
    run=_run,
)
