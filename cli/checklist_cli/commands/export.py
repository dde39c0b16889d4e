"""`checklist-dispatch export`: downloads runs of a service, or one run as PDF (docs/exports.md)."""

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Final

from ..client.api_key import read_api_key
from ..client.connection import add_service_options, client_of, required_server
from ..client.export_download import NEXT_BYTE_WITHIN_S, Download, File, StandardOutput, Target
from ..console.command import Command, CommandFailed, ExitStatus
from ..console.progress import Progress
from ..console.values import run_id

_OF_RUNS: Final = ("csv", "jsonl", "geojson")
_OF_ONE: Final = ("pdf", "json")
_STATUSES: Final = ("pending", "in_progress", "completed", "cancelled", "expired")
_FILTERS: Final = ("status", "template_id", "executor_ref", "flagged", "created_after", "created_before")


def _configure(parser: ArgumentParser) -> None:
    parser.add_argument("--format", choices=(*_OF_RUNS, *_OF_ONE), required=True, help="pdf and json: one run")
    parser.add_argument(
        "--to", metavar="FILE", type=Path, default=Path("-"), help="output file (default: -, standard output)"
    )
    add_service_options(parser)
    which = parser.add_argument_group("which runs")
    which.add_argument("--run", metavar="RUN_ID", type=run_id, help="only this run, as pdf or json")
    which.add_argument("--status", choices=_STATUSES, help="only with this status")
    which.add_argument("--template", metavar="TEMPLATE_ID", dest="template_id", help="only of this template")
    which.add_argument("--reference", metavar="TEXT", dest="executor_ref", help="only with this executor_ref")
    which.add_argument("--flagged", choices=("true", "false"), help="true: only with answers that are not as expected")
    which.add_argument("--created-after", metavar="TIME", help="dispatched at or after, as 2026-11-01T00:00:00Z")
    which.add_argument("--created-before", metavar="TIME", help="dispatched before")
    table = parser.add_argument_group("options of csv")
    table.add_argument("--rows", choices=("answers", "runs"), help="what a row is (default: answers)")
    table.add_argument("--no-bom", action="store_true", help="omit the byte order mark, which Excel needs")


def _run(options: Namespace) -> ExitStatus:
    path, query = _asked(options)
    target = _target(options)
    key = read_api_key(options.key_file)
    progress = Progress()
    with client_of(options.server, key, next_byte_within_s=NEXT_BYTE_WITHIN_S) as client:
        done = Download(client, progress).run(path, query, target)
    of_runs = "" if done.runs is None else f"{done.runs:,} runs, "
    progress.line(f"{_name(options)}: {of_runs}{done.size:,} bytes")
    if done.incomplete is not None:
        progress.line("a part of the archive is damaged: its runs are not in it (docs/runbook.md)")
        return ExitStatus.NO
    return ExitStatus.YES


def _asked(options: Namespace) -> tuple[str, dict[str, str]]:
    """Path and query. Raises CommandFailed."""
    required_server(options)
    filters = {name: str(getattr(options, name)) for name in _FILTERS if getattr(options, name) is not None}
    if options.format in _OF_ONE:
        if options.run is None:
            raise CommandFailed(f"--format {options.format} exports one run: give --run")
        if filters or options.rows or options.no_bom:
            raise CommandFailed("--run cannot be combined with filters, --rows or --no-bom")
        return f"/v1/runs/{options.run}/export", {"format": options.format}
    if options.run is not None:
        raise CommandFailed("--run needs --format pdf or json")
    if options.format != "csv" and (options.rows or options.no_bom):
        raise CommandFailed("--rows and --no-bom need --format csv")
    if options.rows == "runs" and options.template_id is None:
        raise CommandFailed("--rows runs needs --template: the columns are a template's steps")
    table = {"rows": options.rows} if options.rows else {}
    return "/v1/exports", {"format": options.format, **filters, **table, **({"bom": "false"} if options.no_bom else {})}


def _target(options: Namespace) -> Target:
    if str(options.to) == "-":
        if options.format == "pdf" and sys.stdout.isatty():
            raise CommandFailed("a PDF cannot be printed to a terminal: give --to FILE")
        return StandardOutput()
    if options.to.is_dir():
        raise CommandFailed(f"{options.to} is a folder")
    return File(options.to)


def _name(options: Namespace) -> str:
    return "standard output" if str(options.to) == "-" else str(options.to)


COMMAND = Command(
    name="export",
    summary="download runs as CSV, JSON lines or GeoJSON, a run as PDF",
    description="""\
Download runs from a service (docs/exports.md) with an API key of their organization.

  checklist-dispatch export --server https://checklists.example --key-file key.txt \\
      --format csv --status completed --created-after 2026-11-01T00:00:00Z --to november.csv
  checklist-dispatch export --format pdf --run r-... --to run.pdf
  checklist-dispatch export --format jsonl | jq -r .run_id

The file is renamed to its name when it is complete, and only you can read it; an existing file is kept until then. An
interrupted export, or one refused because the service is busy, starts again, five times in all. Progress goes to
standard error.

Exit status: 0 done; 1 done, but a part of the archive is damaged and its runs are missing; 2 an error.
""",
    configure=_configure,
    run=_run,
)
