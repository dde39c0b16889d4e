"""`python -m checklist_api` as a process: what it says at its start about signing in."""

import base64
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from checklist_dev.controlplane import ControlPlane
from checklist_dev.ports import free_ports
from checklist_dev.processes import Child

KEY = base64.b64encode(bytes(range(32))).decode()
GOOD = {
    "CHECKLISTS_NAMESPACE": "checklists",
    "CHECKLISTS_SERVER_KEY": KEY,
    "CHECKLISTS_SEALING_KEYS": f"k1:{KEY}",
}


def _environment(**given: str) -> dict[str, str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("CHECKLISTS_", "KUBE"))}
    return {**plain, **GOOD, **given}


@pytest.mark.parametrize(
    ("base_url", "warned"), [("http://checklists.example", True), ("https://checklists.example", False)]
)
def test_an_address_where_nobody_could_stay_signed_in_is_told(
    control_plane: ControlPlane, tmp_path: Path, base_url: str, warned: bool
) -> None:
    environment = _environment(
        KUBECONFIG=str(control_plane.kubeconfig),
        CHECKLISTS_PORT=str(free_ports(1)[0]),
        CHECKLISTS_BASE_URL=base_url,
        CHECKLISTS_PHOTO_STORE=tmp_path.as_uri(),
    )
    api = Child("api", [sys.executable, "-m", "checklist_api"], log=tmp_path / "api.log", env=environment)
    api.start()
    try:
        deadline = time.monotonic() + 60
        while "api.listening" not in api.output() and time.monotonic() < deadline:
            time.sleep(0.05)
    finally:
        api.stop()
    lines = [json.loads(line) for line in api.output().splitlines()]
    assert "api.listening" in [line["event"] for line in lines]
    told = [line for line in lines if line["event"] == "api.dashboard_needs_https"]
    assert len(told) == warned
    assert all(line["level"] == "warning" and line["url"] == base_url for line in told)


def test_redis_without_its_package_is_one_clear_line() -> None:
    without = "import sys; sys.modules['redis'] = None; from checklist_api.__main__ import main; sys.exit(main([]))"
    done = subprocess.run(
        [sys.executable, "-c", without],
        env=_environment(CHECKLISTS_REDIS_URL="redis://:in-the-url@127.0.0.1:6379"),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "CHECKLISTS_REDIS_URL needs the package redis" in done.stderr
    assert "in-the-url" not in done.stderr
