"""`checklist-dispatch listen`: receives webhooks on this machine."""

import asyncio
import signal
import ssl
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from typing import TextIO

from checklist_crds.resources.webhook_url import InvalidTarget, canonical_url
from checklist_crds.times import utc_now

from ..console.command import Command, CommandFailed, ExitStatus
from ..console.terminal import Paint
from ..console.values import from_one, number_to
from ..receiver.answer_script import AnswerScript
from ..receiver.capture_formats import CaptureFolder
from ..receiver.listener import Endpoint, Listener, Received, bind
from ..receiver.received_text import Form, received_text
from ..receiver.secret_source import add_secret_options, read_secret
from ..receiver.verification import MAX_AGE_S, SKEW_S, Expectation

_PATH = "/hook"


def _configure(parser: ArgumentParser) -> None:
    add_secret_options(parser)
    where = parser.add_argument_group("where")
    where.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    where.add_argument("--port", type=_port, default=9000, help="port to listen on, 0 for a free one (default: 9000)")
    where.add_argument("--url", help=f"webhook.url as given at dispatch (default: http(s)://HOST:PORT{_PATH})")
    where.add_argument("--tls-certificate", type=Path, metavar="PEM", help="serve https with this certificate chain")
    where.add_argument(
        "--tls-key", type=Path, metavar="PEM", help="its key, if the certificate file does not contain it"
    )
    answers = parser.add_argument_group("answers")
    answers.add_argument(
        "--answer",
        default="204",
        metavar="SCRIPT",
        help="per attempt, the last one repeats: 200 | 500,500,200 | 204@12 | drop (default: 204)",
    )
    answers.add_argument(
        "--delay",
        type=number_to(3600, "number of seconds"),
        default=0.0,
        metavar="S",
        help="answer each attempt S seconds late",
    )
    answers.add_argument("--max-age", type=int, default=MAX_AGE_S, metavar="S", help="accepted age (default: 300)")
    answers.add_argument("--skew", type=int, default=SKEW_S, metavar="S", help="accepted clock difference (default: 5)")
    output = parser.add_argument_group("output")
    output.add_argument(
        "--format", type=Form, choices=list(Form), default=Form.FULL, help="full, line or json (default: full)"
    )
    output.add_argument("--save", type=Path, metavar="FOLDER", help="save each request there, for `verify`")
    output.add_argument("--count", type=from_one(), metavar="N", help="end after N requests")


def _run(options: Namespace) -> ExitStatus:
    try:
        script = AnswerScript.parse(options.answer, delay_s=options.delay)
    except ValueError as error:
        raise CommandFailed(f"--answer: {error}") from None
    secret = read_secret(options)
    return asyncio.run(_listen(options, script, secret, sys.stdout))


async def _listen(options: Namespace, script: AnswerScript, secret: bytes, out: TextIO) -> ExitStatus:
    tls = _tls(options)
    try:
        bound = bind(options.host, options.port)
    except OSError as error:
        raise CommandFailed(f"cannot listen on {options.host} port {options.port}: {error.strerror or error}") from None
    with bound:
        url = _canonical(options.url or _own_url(options.host, bound.getsockname()[1], is_tls=tls is not None))
        output = _Output(options, url, out)
        expected = Expectation(url, secret, options.max_age, options.skew)
        listener = Listener(expected, script, report=output.report, clock=utc_now)
        endpoint = Endpoint(listener, bound, tls)
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, _stop, output, listener)
        await endpoint.start()
        output.begin()
        await output.enough.wait()
        if output.is_complete:
            await listener.answered.wait()
        await endpoint.stop()
    if output.failure is not None:
        raise output.failure
    return ExitStatus.YES


def _stop(output: "_Output", listener: Listener) -> None:
    output.enough.set()
    listener.answered.set()  # do not wait for delayed answers


class _Output:
    """Prints and saves requests; `enough` is set after --count requests, by a signal or on a failure."""

    def __init__(self, options: Namespace, url: str, out: TextIO) -> None:
        self._url, self._out = url, out
        self._form: Form = options.format
        self._most: int | None = options.count
        self._paint = Paint(out)
        self._count = 0
        self._folder = CaptureFolder(options.save, url=url) if options.save else None
        self.enough = asyncio.Event()
        self.failure: Exception | None = None
        try:
            if self._folder is not None:
                self._folder.prepare()
        except OSError as error:
            raise _cannot_save(error) from None

    @property
    def is_complete(self) -> bool:
        return self._most is not None and self._count >= self._most

    def begin(self) -> None:
        """Print the URL; with JSON output, to standard error."""
        print(f"listening: {self._url}", file=sys.stderr if self._form is Form.JSON else self._out, flush=True)

    def report(self, received: Received) -> None:
        self._count += 1
        try:
            if self._folder is not None:
                self._folder.save(received)
        except OSError as error:
            self.failure = _cannot_save(error)
        try:
            print(received_text(received, self._form, self._paint), file=self._out, flush=True)
        except OSError as error:
            self.failure = error
        if self.failure is not None or self.is_complete:
            self.enough.set()


def _cannot_save(error: OSError) -> CommandFailed:
    return CommandFailed(f"--save: {error.strerror}: {error.filename}")


def _own_url(host: str, port: int, *, is_tls: bool) -> str:
    return f"{'https' if is_tls else 'http'}://{f'[{host}]' if ':' in host else host}:{port}{_PATH}"


def _tls(options: Namespace) -> ssl.SSLContext | None:
    if options.tls_certificate is None:
        if options.tls_key is not None:
            raise CommandFailed("--tls-key needs --tls-certificate")
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(options.tls_certificate, options.tls_key)
    except OSError as error:  # ssl.SSLError is one
        raise CommandFailed(f"the certificate or its key cannot be used: {error.strerror or error}") from None
    return context


def _canonical(url: str) -> str:
    try:
        return canonical_url(url, allow_insecure=True)
    except InvalidTarget as refusal:
        raise CommandFailed(f"--url: {refusal.message}") from None


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65_535:
        raise ArgumentTypeError("must be a number from 0 to 65535")
    return int(text)


COMMAND = Command(
    name="listen",
    summary="receive, verify and print deliveries, and answer as you choose",
    description="""\
Receive deliveries on this machine: verify each one, detect duplicates, print it, and answer as you choose.

It answers 401 and the reason to requests that are not genuine, 204 to a duplicate event, and by --answer otherwise.

  checklist-dispatch listen --secret-file secret.txt
  checklist-dispatch listen --answer 500,500,200         # fail twice, then accept
  checklist-dispatch listen --answer 204@12              # too late: the sender waits 10 s
  checklist-dispatch listen --url https://hooks.example.com/hook --save captures   # behind a tunnel

Only a service in development mode, as `make run` starts it, dispatches to http and to your own machine.
""",
    configure=_configure,
    run=_run,
)
