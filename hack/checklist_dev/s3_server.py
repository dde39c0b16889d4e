"""A real S3 server for the tests: versitygw, over a local folder. `python -m checklist_dev.s3_server` says where it is.

It comes from PATH, else from the user's cache, where it is built once from its Go modules (`hack/s3server/`).
"""

import argparse
import contextlib
import http.client
import os
import re
import secrets
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from checklist_dev import go_build
from checklist_dev.binaries import cache_folder, machine
from checklist_dev.failures import Failure, say
from checklist_dev.locks import one_at_a_time
from checklist_dev.ports import free_ports
from checklist_dev.processes import Child

MODULE = Path(__file__).resolve().parent.parent / "s3server"
PACKAGE = "github.com/versity/versitygw/cmd/versitygw"
NAME = "versitygw"
READY_S = 30.0


@dataclass(frozen=True, slots=True)
class S3Server:
    """A running server with one empty bucket."""

    url: str
    bucket: str
    access_key: str
    secret_key: str
    child: Child

    def settings(self, prefix: str) -> dict[str, str]:
        """Environment for API and operator: their photos below `prefix` of the bucket."""
        return {
            "CHECKLISTS_PHOTO_STORE": f"s3://{self.bucket}/{prefix}",
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
        }


def find_s3_server(env: Mapping[str, str] = os.environ, *, report: Callable[[str], None] = say) -> Path:
    """The program. Raises Failure when there is none and none can be made."""
    if found := shutil.which(NAME, path=env.get("PATH", "")):
        return Path(found)
    system, architecture = machine()
    cache = cache_folder(env)
    program = cache / f"s3server-{_version()}-{system}-{architecture}" / NAME
    if not program.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with one_at_a_time(cache / f"{program.parent.name}.lock", "building the S3 server", report):
            if not program.exists():
                _build(program, cache, env, report)
    return program


@contextmanager
def s3_server(folder: Path, *, report: Callable[[str], None] = say) -> Iterator[S3Server]:
    """A server over `folder`, which ends with the block. Raises Failure."""
    bucket, access_key, secret_key = "photos-of-tests", "tests", secrets.token_hex(16)
    data, attributes = folder / "data", folder / "attributes"
    (data / bucket).mkdir(parents=True)
    attributes.mkdir()
    port = free_ports(1)[0]
    # Not every file system of a test machine has extended attributes: what S3 keeps of an object beside its bytes
    # is in files of its own.
    command: list[str | Path] = [
        *(find_s3_server(report=report), "--port", f"127.0.0.1:{port}", "--quiet"),
        *("posix", "--sidecar", attributes, data),
    ]
    env = {**os.environ, "ROOT_ACCESS_KEY": access_key, "ROOT_SECRET_KEY": secret_key}
    child = Child(NAME, command, log=folder / f"{NAME}.log", env=env)
    child.start()
    try:
        child.wait_until(lambda: _answers(port), timeout_s=READY_S)
        yield S3Server(f"http://127.0.0.1:{port}", bucket, access_key, secret_key, child)
    finally:
        child.stop()


def _version() -> str:
    text = (MODULE / "go.mod").read_text()
    found = re.search(r"^\s*(?:require )?github\.com/versity/versitygw v(\S+)", text, re.MULTILINE)
    if not found:
        raise Failure(f"{MODULE / 'go.mod'} does not name {NAME}")
    return found[1]


def _build(program: Path, cache: Path, env: Mapping[str, str], report: Callable[[str], None]) -> None:
    """In a folder beside it, then renamed: a folder that exists is complete."""
    for abandoned in cache.glob(program.parent.name + ".tmp-*"):
        shutil.rmtree(abandoned, ignore_errors=True)
    made = Path(tempfile.mkdtemp(prefix=program.parent.name + ".tmp-", dir=cache))
    try:
        go_build.build_program(
            MODULE, PACKAGE, made / NAME, "the S3 server of the tests (about a minute)", cache, env=env, report=report
        )
        made.chmod(0o755)
        made.rename(program.parent)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    with contextlib.closing(connection):
        try:
            connection.request("GET", "/")
            return connection.getresponse().status > 0
        except (OSError, http.client.HTTPException):
            return False


def main() -> int:
    argparse.ArgumentParser(prog="python -m checklist_dev.s3_server", description=__doc__).parse_args()
    try:
        print(find_s3_server())
    except Failure as failure:
        print(f"s3_server: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
