"""`checklist-dispatch dispatch --csv`: dispatches a run for each row of a table (docs/dispatching-many.md)."""

import asyncio
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any, Final

from checklist_crds.resources.event_names import event_name_problem
from checklist_crds.times import utc_now

from ..client.api_key import read_api_key
from ..client.connection import async_client_of, required_server
from ..client.run_commands import print_json
from ..console.command import CommandFailed, ExitStatus
from ..console.progress import Progress
from ..console.terminal import plain

ANSWER_WITHIN_S: Final = 60.0
_HOUR_S: Final = 3_600
_MAX_BYTES: Final = 64 * 1024 * 1024
_SHOWN_PROBLEMS: Final = 20
_SHOWN_REPEATED: Final = 5
_OF_ONE_RUN: Final = ("ref", "idempotency_key", "wait", "timeout", "cancel_on_interrupt")

EXIT_STATUSES: Final = """\
With --csv: 0 every row is dispatched; 1 rows are left, because the service refused them or the plan's limit is reached
(repeat the same command when it can go on); 2 the table is not valid, or an error; 130 interrupted (repeat it).
"""


def add_table_options(parser: ArgumentParser) -> None:
    table = parser.add_argument_group(
        "many runs",
        "a table with a header and a row for each run; columns: reference, name, contact, expires, webhook_url, "
        "webhook_events. Other options are the values of empty cells",
    )
    table.add_argument("--csv", type=Path, metavar="FILE", help="dispatch a run for each row of this table")
    table.add_argument(
        "--result", type=Path, metavar="FILE", help="where the links go (default: FILE.runs.csv, next to the table)"
    )
    table.add_argument("--check", action="store_true", help="only check the table")
    table.add_argument(
        "--copy-columns", action="store_true", help="repeat unknown columns in the result, instead of refusing them"
    )
    table.add_argument(
        "--resume-late", action="store_true", help="continue a job that was killed more than 23 hours ago"
    )


def refuse_table_options(options: Namespace) -> None:
    """Raises CommandFailed if one is given without --csv."""
    if options.result is not None or options.check or options.copy_columns or options.resume_late:
        raise CommandFailed("--result, --check, --copy-columns and --resume-late need --csv")


def dispatch_table(options: Namespace, *, webhook: dict[str, Any] | None) -> ExitStatus:
    """Check the table, and dispatch its rows. `webhook`: for rows; its URL may be None. Raises CommandFailed."""
    # Imported late: other commands need neither locks nor tables.
    from ..bulk.table import Defaults, TableInvalid, read_table

    if given := [name for name in _OF_ONE_RUN if getattr(options, name)]:
        raise CommandFailed(f"--{given[0].replace('_', '-')} does not go together with --csv")
    if webhook is not None and (problem := event_name_problem(webhook["events"])):
        raise CommandFailed(f"--events {problem}")
    defaults = Defaults(
        expires_in_hours=None if options.expires is None else options.expires / _HOUR_S,
        **{}
        if webhook is None
        else {"webhook_url": webhook["url"], "webhook_events": tuple(webhook["events"]), "secret": webhook["secret"]},
    )
    try:
        table = read_table(_content(options.csv), defaults, copy_others=options.copy_columns)
    except TableInvalid as invalid:
        for found in invalid.problems[:_SHOWN_PROBLEMS]:
            print(plain(f"{options.csv}: {found}"), file=sys.stderr)
        more = len(invalid.problems) - _SHOWN_PROBLEMS
        raise CommandFailed(f"nothing is dispatched{f'; {more} more problems' if more > 0 else ''}") from None
    for reference, numbers in list(table.repeated.items())[:_SHOWN_REPEATED]:
        rows = ", ".join(map(str, numbers[:_SHOWN_PROBLEMS]))
        print(plain(f"note: rows {rows} have the same reference {reference!r}"), file=sys.stderr)
    if options.check:
        print(f"{len(table.rows)} rows are valid")
        return ExitStatus.YES
    return asyncio.run(_dispatch(options, table, defaults.secret))


async def _dispatch(options: Namespace, table: Any, secret: str | None) -> ExitStatus:
    from ..bulk.job import Job
    from ..bulk.result_file import ResultFile

    path = options.result or options.csv.with_name(f"{options.csv.stem}.runs.csv")
    if path.resolve() == options.csv.resolve():
        raise CommandFailed("--result must be another file than the table")
    server, key = required_server(options), read_api_key(options.key_file)
    file = ResultFile.locked(path)
    try:
        async with async_client_of(server, key, next_byte_within_s=ANSWER_WITHIN_S) as client:
            job = Job(table, file, template_id=options.template, secret=secret, progress=Progress(), clock=utc_now)
            done = await job.run(client, resume_late=options.resume_late)
    except (CommandFailed, asyncio.CancelledError):
        print(f"what is dispatched is in {plain(str(path))}; repeat the same command to continue", file=sys.stderr)
        raise
    finally:
        file.close()
    stopped = "" if done.stopped is None else plain(str(done.stopped))
    if options.output == "json":
        counts = {name: getattr(done, name) for name in ("rows", "dispatched", "already", "refused", "left")}
        print_json({"result": str(path), **counts, "stopped": None if done.stopped is None else done.stopped.code})
    else:
        print(path)
    print(_summary(done), file=sys.stderr)
    if done.stopped is not None:
        from ..bulk.dispatching import OUT_OF_QUOTA

        advice = "what is dispatched is kept; repeat the same command to continue"
        if done.stopped.code not in OUT_OF_QUOTA:
            raise CommandFailed(f"{stopped}; {advice}")
        print(f"{stopped}; {advice} when runs are available again", file=sys.stderr)
    return ExitStatus.YES if done.dispatched == done.rows else ExitStatus.NO


def _summary(done: Any) -> str:
    before = f" ({done.already:,} of them before)" if done.already else ""
    refused = f", {done.refused:,} refused (see the column error)" if done.refused else ""
    left = f", {done.left:,} left" if done.left else ""
    return f"{done.dispatched:,} of {done.rows:,} rows dispatched{before}{refused}{left}"


def _content(path: Path) -> bytes:
    """Raises CommandFailed."""
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise CommandFailed(f"{path} cannot be read: {error.strerror}") from None
    if len(content) > _MAX_BYTES:
        raise CommandFailed(f"{path} is larger than 64 MiB")
    return content
