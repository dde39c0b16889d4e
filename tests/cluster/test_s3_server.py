"""Where the S3 server of the tests comes from, and that it is one."""

import os
from pathlib import Path

from checklist_dev import s3_server
from checklist_dev.s3_server import S3Server, find_s3_server


def executable(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_one_on_path_is_taken_and_otherwise_it_is_built_once_for_the_user(tmp_path: Path) -> None:
    go = (
        "#!/bin/sh\n"
        'if [ "$1" = version ]; then echo "go version go1.26.6 linux/amd64"; exit; fi\n'
        'while [ "$1" != -o ]; do shift; done\n'
        'echo "$PWD $3" >"$2"; chmod 755 "$2"\n'
    )
    tools = executable(tmp_path / "tools" / "go", go).parent
    env = {"PATH": f"{tools}:/bin:/usr/bin", "HOME": str(tmp_path / "home")}
    said: list[str] = []
    program = find_s3_server(env, report=said.append)
    assert program.read_text().split() == [str(s3_server.MODULE), s3_server.PACKAGE]
    assert any("building the S3 server" in line for line in said)
    said.clear()
    assert find_s3_server(env, report=said.append) == program
    assert said == []
    on_path = executable(tools / "versitygw", "#!/bin/sh\n")
    assert find_s3_server(env) == on_path


def test_the_fixture_is_a_server_that_asks_who_calls(s3: S3Server) -> None:
    settings = s3.settings("some/prefix")
    assert settings["CHECKLISTS_PHOTO_STORE"] == "s3://photos-of-tests/some/prefix"
    assert s3.child.running
    assert s3.secret_key not in (Path("/proc") / str(s3.child.pid) / "cmdline").read_text()
    assert os.environ.get("AWS_SECRET_ACCESS_KEY") != s3.secret_key
