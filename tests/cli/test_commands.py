"""The program `checklist-dispatch`: its help, its exit statuses, and what `verify` says."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import RUN, SECRET, Capture, Send, Sent, Service

from checklist_cli.client.api_key import KEY_VARIABLE
from checklist_cli.program import COMMANDS, main, parser
from checklist_cli.receiver.secret_source import VARIABLE
from checklist_dev.repository import ROOT

AT = "2026-11-21T13:50:01Z"


@pytest.fixture(autouse=True)
def secret_of_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, SECRET)


@pytest.fixture
async def sent(send: Send) -> Sent:
    return await send()


@pytest.fixture
def capture(sent: Sent, tmp_path: Path) -> Path:
    path = tmp_path / "request.http"
    path.write_bytes(sent.raw)
    return path


def verify(*arguments: object) -> int:
    return main(["verify", *map(str, arguments)])


def test_every_command_and_option_is_explained_by_help_and_documentation(capsys: Capture) -> None:
    documented = "".join((ROOT / f"docs/{page}.md").read_text() for page in ("command-line", "secrets", "mcp"))
    for command in COMMANDS:
        with pytest.raises(SystemExit) as ended:
            main([command.name, "--help"])
        assert ended.value.code == 0
        printed = capsys.readouterr().out
        assert command.description in printed and f"`{command.name}`" in documented
        for action in parser()._subparsers._group_actions[0].choices[command.name]._actions:  # type: ignore[union-attr, index]
            assert action.help, f"{command.name} {action.option_strings} says nothing"
            assert all(option in printed for option in action.option_strings)
            for option in set(action.option_strings) - {"-h", "--help", "--keys-file", "--parallel"}:
                assert option in documented, f"{command.name} {option}"


def test_the_installed_program_knows_its_commands_and_its_version() -> None:
    program = Path(sys.executable).with_name("checklist-dispatch")
    printed = [subprocess.check_output([program, option], text=True) for option in ("--help", "--version")]
    assert all(command.name in printed[0] for command in COMMANDS)
    assert printed[1].startswith("checklist-dispatch 0.")


def test_a_closed_output_is_no_traceback(sent: Sent, capture: Path) -> None:
    program = [sys.executable, "-m", "checklist_cli", "verify", str(capture), "--url", sent.url, "--at", AT]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(program, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (2, b"")


def test_an_interruption_sets_the_exit_status(capture: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("checklist_cli.commands.verify.read_secret", interrupted)
    assert verify(capture, "--url", "https://hooks.example.com/") == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("arguments", [[], ["dance"], ["verify", "--at"], ["listen", "--port", "x"]])
def test_a_wrong_call_has_another_status_than_a_no(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2


def test_verify_says_whether_a_request_is_genuine_and_how_to_fix_it(sent: Sent, capture: Path, capsys: Capture) -> None:
    # The URL may be given in any spelling of the configured one.
    assert verify(capture, "--url", sent.url.replace("http://", "HTTP://") + "#part", "--at", AT) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:-1]] == ["ok"] * 9
    assert lines[-1] == "genuine"
    capture.write_bytes(sent.raw.replace(b"snow", b"rain"))
    assert verify(capture, "--url", sent.url, "--at", AT) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "NOT genuine: content-digest"
    at = next(number for number, line in enumerate(lines) if line.startswith("FAIL"))
    assert "the body is not the one that was sent" in lines[at]
    assert "verify the bytes as they arrived" in lines[at + 1]


def test_verify_checks_the_age_and_reports_json(sent: Sent, capture: Path, capsys: Capture) -> None:
    assert verify(capture, "--url", sent.url) == 1
    assert "NOT genuine: created, expires" in capsys.readouterr().out
    assert verify(capture, "--url", sent.url, "--max-age", 10**9, "--skew", 10**9) == 0
    capsys.readouterr()
    assert verify(capture, "--url", sent.url + "/", "--at", AT, "--json") == 1
    report = json.loads(capsys.readouterr().out)
    assert report["genuine"] is False
    verdicts = {check["name"]: check["verdict"] for check in report["checks"]}
    assert verdicts.pop("signature") == "failed"
    assert set(verdicts.values()) == {"ok"}


def test_verify_accepts_all_inputs(sent: Sent, capture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    headers, body, file = (tmp_path / name for name in ("headers.txt", "body.bin", "secret"))
    url = ("--url", sent.url, "--at", AT)
    given = ("--headers", headers, "--body", body, *url)
    headers.write_text("\n".join(f"> {line}" for line in sent.head.decode().split("\r\n")) + "\n> \n")
    body.write_bytes(sent.body)
    assert verify(*given) == 0
    headers.write_text("\n".join(sent.head.decode().split("\r\n")[1:]))
    assert (verify(*given), verify(*given, "--method", "PUT")) == (0, 1)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(sent.raw)))
    assert verify("-", *url) == 0
    monkeypatch.delenv(VARIABLE)
    for end in ("", "\n", "\r\n"):
        file.write_bytes((SECRET + end).encode())
        assert verify(capture, *url, "--secret-file", file) == 0
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    assert verify(capture, *url, "--secret-env", "HOOK_SECRET") == 0


URL = ("--url", "https://a.example/")
EXPORT = ("export", "--server", "{url}", "--format")
MANIFEST = ("generate", "check", "--format", "manifest")
SERVER = ("generate", "check", "--server", "http://127.0.0.1:9")


def test_what_cannot_be_done_is_one_clear_line(
    capture: Path, service: Service, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(capture.parent)
    monkeypatch.setenv(KEY_VARIABLE, "cds_live_of_the_test")
    cases: list[tuple[tuple[str, ...], str]] = [
        (("verify",), "give a file with the whole request"),
        (("verify", "none.http", *URL), "none.http cannot be read: No such file"),
        (("verify", "{capture}"), "give --url"),
        (("verify", "{capture}", "--url", "hook"), "--url: The URL must be absolute"),
        (("verify", "{capture}", *URL, "--at", "noon"), "--at must be a time"),
        (("verify", "{capture}", *URL, "--secret", "short"), "has 5 characters"),
        (("verify", "{capture}", *URL, "--secret-env", "NONE"), "no secret"),
        (("verify", "{capture}", "--body", "{capture}"), "give either one file"),
        ((*EXPORT, "pdf"), "--format pdf exports one run: give --run"),
        ((*EXPORT, "csv", "--run", RUN), "--run needs --format pdf or json"),
        ((*EXPORT, "pdf", "--run", RUN, "--status", "expired"), "--run cannot be combined with filters"),
        ((*EXPORT, "jsonl", "--rows", "answers"), "need --format csv"),
        ((*EXPORT, "csv", "--rows", "runs"), "--rows runs needs --template"),
        ((*EXPORT, "csv", "--to", "/"), "is a folder"),
        ((*EXPORT, "csv", "--to", "/no/such/folder/a"), "/no/such/folder/a cannot be written"),
        ((*EXPORT, "csv", "--key-file", "/no/such"), "/no/such cannot be read"),
        (("generate", "abc"), "a prompt has 4 to 4000 characters, not 3"),
        (("generate", "x" * 4001), "a prompt has 4 to 4000 characters, not 4001"),
        (("generate", "check \udcff doors"), "not UTF-8"),
        (MANIFEST, "needs --organization"),
        ((*MANIFEST, "--organization", "A cme"), "--organization must be 1 to 63 characters of a-z"),
        ((*MANIFEST, "--organization", "a", "--name", "x-"), "--name must be 1 to 63 characters of a-z"),
        (("generate", "check", "--organization", "acme"), "need --format manifest"),
        (("generate", "check", "--key", "x"), "need --server"),
        ((*SERVER, "--key-file", "/no/such"), "/no/such cannot be read"),
        ((*SERVER, "--key", "a b"), "not an API key"),
        ((*SERVER, "--key", "x"), "does not answer: ConnectError"),
        (("generate", "check", "--server", "nowhere", "--key", "x"), "does not answer: UnsupportedProtocol"),
        (("listen", "--answer", "200,maybe"), "--answer: 'maybe'"),
        (("listen", "--tls-key", "{capture}"), "--tls-key needs --tls-certificate"),
        (("listen", "--tls-certificate", "{capture}"), "cannot be used"),
        (("listen", "--host", "192.0.2.1"), "cannot listen on 192.0.2.1"),
        (("listen", "--port", "0", "--save", "{capture}/x"), "--save: Not a directory"),
    ]
    for arguments, why in cases:
        assert main([argument.format(capture=capture, url=service.url) for argument in arguments]) == 2, arguments
        said = capsys.readouterr().err
        # (A server of this process may complain of a caller that went away, in between.)
        said = said[said.index(f"checklist-dispatch {arguments[0]}: ") :]
        assert why in said, arguments
        assert said.count("\n") == 1, said
        assert SECRET not in said
