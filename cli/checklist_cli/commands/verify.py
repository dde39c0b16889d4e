"""`checklist-dispatch verify`: checks whether a captured request is genuine, and which check failed."""

import sys
from argparse import ArgumentParser, Namespace
from datetime import datetime
from pathlib import Path

from checklist_crds.resources.webhook_url import InvalidTarget, canonical_url
from checklist_crds.times import parse_timestamp, utc_now

from ..console.command import Command, CommandFailed, ExitStatus
from ..console.terminal import Paint
from ..receiver import capture_formats
from ..receiver.capture_formats import CaptureUnreadable
from ..receiver.captured_request import CapturedRequest
from ..receiver.received_text import report_json, report_lines
from ..receiver.secret_source import add_secret_options, read_secret
from ..receiver.verification import MAX_AGE_S, SKEW_S, Expectation, verify


def _configure(parser: ArgumentParser) -> None:
    what = parser.add_argument_group("what")
    what.add_argument(
        "capture", type=Path, nargs="?", help="a raw HTTP request, or JSON of `listen --save`; - is standard input"
    )
    what.add_argument("--headers", type=Path, metavar="FILE", help="instead: its headers, one per line, ...")
    what.add_argument("--body", type=Path, metavar="FILE", help="... and its body, byte for byte")
    what.add_argument("--method", default="POST", help="its method, if --headers has no request line (POST)")
    what.add_argument("--url", help="webhook.url as given at dispatch (default: as saved by --save)")
    add_secret_options(parser)
    when = parser.add_argument_group("when")
    when.add_argument(
        "--at", metavar="TIME", help="check its age at this time (RFC 3339); default: as saved by --save, else now"
    )
    when.add_argument("--max-age", type=int, default=MAX_AGE_S, metavar="S", help="accepted age (300)")
    when.add_argument("--skew", type=int, default=SKEW_S, metavar="S", help="accepted clock difference (5)")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def _run(options: Namespace) -> ExitStatus:
    request, saved_url = _request(options)
    url = options.url or saved_url
    if url is None:
        raise CommandFailed("give --url: webhook.url as given at dispatch, not a URL derived from the request")
    try:
        canonical = canonical_url(url, allow_insecure=True)
    except InvalidTarget as refusal:
        raise CommandFailed(f"--url: {refusal.message}") from None
    now = _moment(options.at) or request.received_at or utc_now()
    report = verify(request, Expectation(canonical, read_secret(options), options.max_age, options.skew), now=now)
    if options.json:
        print(report_json(report))
    else:
        print("\n".join(report_lines(report, Paint(sys.stdout))))
    return ExitStatus.YES if report.is_genuine else ExitStatus.NO


def _request(options: Namespace) -> tuple[CapturedRequest, str | None]:
    try:
        if options.capture is not None:
            if options.headers or options.body:
                raise CommandFailed("give either one file with the whole request, or --headers and --body")
            return capture_formats.read(_bytes(options.capture))
        if options.headers is None or options.body is None:
            raise CommandFailed("give a file with the whole request, or --headers and --body")
        head = _bytes(options.headers).decode("latin-1")
        return capture_formats.from_head(head, _bytes(options.body), method=options.method), None
    except CaptureUnreadable as reason:
        raise CommandFailed(f"the request cannot be read: {reason}") from None


def _bytes(path: Path) -> bytes:
    try:
        return sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except OSError as error:
        raise CommandFailed(f"{path} cannot be read: {error.strerror}") from None


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        return parse_timestamp(text)
    except ValueError:
        raise CommandFailed("--at must be a time with a time zone, as 2026-11-21T13:50:00Z") from None


COMMAND = Command(
    name="verify",
    summary="check whether a captured request is genuine, and which check failed",
    description="""\
Verify a captured delivery: run each check of docs/receivers.md, and print for a failed one how to fix it.

  checklist-dispatch verify request.http --url https://hooks.example.com/hook --secret-file secret.txt
  checklist-dispatch verify --headers headers.txt --body body.bin --url https://hooks.example.com/hook
  checklist-dispatch verify captures/0001-run.completed-attempt-1.json

Exit status: 0 genuine, 1 not genuine, 2 it could not be verified.
""",
    configure=_configure,
    run=_run,
)
