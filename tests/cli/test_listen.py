"""`checklist-dispatch listen` as a program, with the real sender before it."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.cli.conftest import RUN, SECRET, Capture, envelope, send_to

from checklist_cli.program import main
from checklist_dev.local.certificates import credentials_in
from checklist_operator.transport.sender import tls_context

OTHER = "some other secret"


class Listening:
    """The program, the URL that it printed, and what it prints after that."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.url = ""

    async def line(self, stream: asyncio.StreamReader | None = None) -> str:
        speaking = stream or self.process.stdout
        assert speaking is not None
        return (await asyncio.wait_for(speaking.readline(), 30)).decode().rstrip("\n")

    async def said(self) -> str:
        """The next line, without the time that it begins with."""
        return (await self.line()).partition(" ")[2]


@asynccontextmanager
async def listening(*options: str) -> AsyncIterator[Listening]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "checklist_cli", "listen", "--port", "0", *options),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE if "json" in options else None,
        env={**os.environ, "CHECKLISTS_WEBHOOK_SECRET": SECRET},
    )
    listen = Listening(process)
    try:
        listen.url = (await listen.line(process.stderr)).removeprefix("listening: ")
        yield listen
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_listen_answers_detects_duplicates_and_saves_requests(tmp_path: Path, capsys: Capture) -> None:
    folder = tmp_path / "captures"
    async with listening("--answer", "500,200", "--format", "line", "--save", str(folder)) as listen:
        statuses = [(await send_to(listen.url, envelope(delivery_attempt=number))).http_status for number in (1, 2, 2)]
        assert statuses == [500, 200, 204]
        assert (await send_to(listen.url, secret=OTHER)).http_status == 401
        about = f"run.completed evt-1 attempt {{}} of {RUN}"
        assert [await listen.said() for _ in range(3)] == [
            "500 verified: " + about.format(1),
            "200 verified: " + about.format(2),
            "204 duplicate: " + about.format(2),
        ]
        assert (await listen.said()).startswith("401 refused: signature")
    good, *_, bad = sorted(folder.iterdir())
    assert (good.name, bad.name) == ("0001-run.completed-attempt-1.json", "0004-refused.json")
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    assert json.loads(good.read_text())["envelope"] == json.loads(envelope())
    assert SECRET not in good.read_text()
    assert main(["verify", str(good), "--secret", SECRET]) == 0
    assert main(["verify", str(bad), "--secret", SECRET]) == 1
    assert "NOT genuine: signature" in capsys.readouterr().out


async def test_it_prints_how_to_fix_a_failed_check_and_the_event_for_a_terminal() -> None:
    async with listening() as listen:
        await send_to(listen.url, secret=OTHER)
        assert (await listen.said()).startswith("401 refused: signature: made with another secret")
        assert "compare the secret" in await listen.line()
        await send_to(listen.url, envelope(data={"thumbnail": "A" * 5000, "note": "☃\x1b[2J\u009b2J"}))
        while "verified" not in await listen.line():
            pass
        lines = []
        while not lines or lines[-1] != "}":
            lines.append(await listen.line())
        printed = json.loads("\n".join(lines))
        assert printed["data"]["thumbnail"].endswith("(5,000 characters)")
        assert printed["data"]["note"].startswith("☃")
        assert not {"\x1b", "\u009b"} & set("".join(lines))


async def test_in_json_there_is_nothing_but_one_document_a_line() -> None:
    async with listening("--answer", "503,204", "--format", "json") as listen:
        for secret, genuine, answer in ((SECRET, True, 503), (OTHER, False, 401)):
            await send_to(listen.url, secret=secret)
            said = json.loads(await listen.line())
            assert (said["genuine"], said["answer"], said.get("failed_check")) == (
                *(genuine, answer),
                None if genuine else "signature",
            )
            assert said["envelope"] == (json.loads(envelope()) if genuine else None), "not genuine is not for programs"


async def test_it_serves_https_and_ends_after_the_wanted_number_of_requests(tmp_path: Path) -> None:
    made = credentials_in(tmp_path)
    tls = ("--tls-certificate", str(made.certificate), "--tls-key", str(made.key))
    async with listening("--count", "1", "--answer", "202@0.2", *tls) as listen:
        assert listen.url.startswith("https://127.0.0.1:")
        trusting = tls_context()
        trusting.load_verify_locations(made.authority)
        assert (await send_to(listen.url, tls=trusting)).http_status == 202
        assert await asyncio.wait_for(listen.process.wait(), 30) == 0


async def test_a_signal_ends_it_cleanly_even_while_an_answer_waits() -> None:
    async with listening("--answer", "200@60", "--format", "line") as listen:
        waiting = asyncio.create_task(send_to(listen.url))
        assert "after 60 s" in await listen.line()
        listen.process.send_signal(signal.SIGINT)
        assert await asyncio.wait_for(listen.process.wait(), 30) == 0
        assert not (await waiting).ok
