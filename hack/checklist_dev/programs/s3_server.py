"""A real S3 server for the tests: versitygw, over a local folder."""

import http.client
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from checklist_dev.failures import say
from checklist_dev.programs.go_tools import S3_SERVER, find_tool
from checklist_dev.system.ports import free_ports, http_get
from checklist_dev.system.processes import Child

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
        """Environment for API and operator: photos below `prefix` of the bucket."""
        return {
            "CHECKLISTS_PHOTO_STORE": f"s3://{self.bucket}/{prefix}",
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
        }


@contextmanager
def s3_server(folder: Path, *, report: Callable[[str], None] = say) -> Iterator[S3Server]:
    """Run a server over `folder` for the duration of the block. Raises Failure."""
    bucket, access_key, secret_key = "photos-of-tests", "tests", secrets.token_hex(16)
    data, attributes = folder / "data", folder / "attributes"
    (data / bucket).mkdir(parents=True)
    attributes.mkdir()
    port = free_ports(1)[0]
    # Object metadata goes to files, because not every file system supports extended attributes.
    command: list[str | Path] = [
        *(find_tool(S3_SERVER, report=report), "--port", f"127.0.0.1:{port}", "--quiet"),
        *("posix", "--sidecar", attributes, data),
    ]
    env = {**os.environ, "ROOT_ACCESS_KEY": access_key, "ROOT_SECRET_KEY": secret_key}
    child = Child(NAME, command, log=folder / f"{NAME}.log", env=env)
    child.start()
    try:
        child.wait_until(
            lambda: http_get(http.client.HTTPConnection("127.0.0.1", port, timeout=5), "/")[0] > 0, timeout_s=READY_S
        )
        yield S3Server(f"http://127.0.0.1:{port}", bucket, access_key, secret_key, child)
    finally:
        child.stop()
