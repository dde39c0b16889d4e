"""Where the S3 server of the tests comes from, and that it is one."""

import os
from pathlib import Path

import pytest

from checklist_dev import s3_server
from checklist_dev.failures import Failure
from checklist_dev.s3_server import S3Server, find_s3_server


def test_one_on_path_is_taken(tmp_path: Path) -> None:
    program = tmp_path / "versitygw"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert find_s3_server({"PATH": str(tmp_path), "HOME": str(tmp_path / "home")}) == program


def test_it_is_built_once_for_the_user_with_progress(tmp_path: Path) -> None:
    """A stand-in for Go, which writes what it is asked for."""
    tools = tmp_path / "tools"
    tools.mkdir()
    go = tools / "go"
    go.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = version ]; then echo "go version go1.26.6 linux/amd64"; exit; fi\n'
        'while [ "$1" != -o ]; do shift; done\n'
        'echo "$PWD $3" >"$2"; chmod 755 "$2"\n'
    )
    go.chmod(0o755)
    env = {"PATH": f"{tools}:/bin:/usr/bin", "HOME": str(tmp_path / "home")}
    said: list[str] = []
    program = find_s3_server(env, report=said.append)
    assert program.read_text().split() == [str(s3_server.MODULE), s3_server.PACKAGE]
    assert any("building the S3 server" in line for line in said)
    said.clear()
    assert find_s3_server(env, report=said.append) == program
    assert said == []


def test_a_build_that_fails_says_why_and_leaves_nothing(tmp_path: Path) -> None:
    go = tmp_path / "go"
    go.write_text('#!/bin/sh\n[ "$1" = version ] && echo go1.26.6 || { echo "no space left"; exit 1; }\n')
    go.chmod(0o755)
    with pytest.raises(Failure, match="the S3 server of the tests could not be built: no space left"):
        find_s3_server({"PATH": f"{tmp_path}:/bin", "HOME": str(tmp_path)}, report=lambda _: None)
    left = [path.name for path in (tmp_path / ".cache" / "checklist-dispatch").iterdir()]
    assert [name for name in left if not name.endswith(".lock")] == []


def test_the_fixture_is_a_server_that_asks_who_calls(s3: S3Server) -> None:
    settings = s3.settings("some/prefix")
    assert settings["CHECKLISTS_PHOTO_STORE"] == "s3://photos-of-tests/some/prefix"
    assert s3.child.running
    assert s3.secret_key not in (Path("/proc") / str(s3.child.pid) / "cmdline").read_text()
    assert os.environ.get("AWS_SECRET_ACCESS_KEY") != s3.secret_key
