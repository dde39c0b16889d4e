"""`make run` and `make stop` as processes: what a developer sees, with stand-ins for API and operator.

The stand-ins answer just what the supervisor asks, so that these tests are about the supervisor alone.
"""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.waiting import eventually_sync

from checklist_crds.secrets.account_links import account_of
from checklist_crds.secrets.digest import digest
from checklist_dev.local.controlplane import ControlPlane
from checklist_dev.local.crd_install import VERSION_ANNOTATION
from checklist_dev.system.ports import free_ports

STAND_IN = """
import http.server, json, os, sys, uuid

port = int(os.environ[{port_setting!r}])
settings = {{name: value for name, value in os.environ.items() if name.startswith(("CHECKLISTS_", "KUBECONFIG"))}}
templates = set()

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/settings":
            return self.answer(200, settings)
        if self.path.startswith("/v1/templates/"):
            return self.answer(200 if self.path.rsplit("/")[-1] in templates else 404, {{}})
        if self.path == "/dashboard/api/sign-in":
            return self.answer(200, {{"oidc": None, "local": "STAND_IN_HAS_PROVIDER" not in os.environ}})
        self.answer(200 if self.path == "/readyz" else 404, {{}})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/v1/templates":
            templates.add("t-" + str(uuid.uuid4()))
            return self.answer(201, {{"id": max(templates), "name": body["name"]}})
        run = "r-" + str(uuid.uuid4())
        self.answer(201, {{"run_id": run, "link": settings["CHECKLISTS_BASE_URL"] + "/r/" + run + "#token"}})

    def answer(self, status, body):
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments):
        pass

if os.environ.get("STAND_IN_FAILS") == {name!r}:
    sys.exit("no configuration")
http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A bare cluster of this module: `make run` writes into a fixed namespace."""
    with ControlPlane(tmp_path_factory.mktemp("bare"), ephemeral=True) as bare:
        yield bare


class Developer:
    """One who types `make run` and `make stop`, with a state folder of their own."""

    def __init__(self, folder: Path, kubeconfig: Path | None) -> None:
        self.state = folder / "state"
        self.port = free_ports(1)[0]
        packages = folder / "packages"
        for name, port_setting in (("api", "CHECKLISTS_PORT"), ("operator", "CHECKLISTS_OPERATOR_PORT")):
            package = packages / f"checklist_{name}"
            package.mkdir(parents=True)
            (package / "__init__.py").touch()
            (package / "__main__.py").write_text(STAND_IN.format(port_setting=port_setting, name=name))
        self.env = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("CHECKLISTS_", "KUBECONFIG"))},
            "PYTHONPATH": str(packages),
            "CHECKLISTS_PORT": str(self.port),
        }
        if kubeconfig:
            self.env["KUBECONFIG"] = str(kubeconfig)

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "checklist_dev.local.service", "--state", str(self.state), *arguments]

    def types(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments), env=self.env, capture_output=True, text=True, timeout=90, check=False
        )

    def info(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.state / "service.json").read_text())
        return found

    @property
    def log(self) -> str:
        return (self.state / "logs" / "service.log").read_text()

    def settings(self, url: str) -> dict[str, str]:
        found: dict[str, str] = httpx.get(url + "/settings").json()
        return found


@pytest.fixture
def developer(tmp_path: Path, cluster: ControlPlane) -> Iterator[Developer]:
    someone = Developer(tmp_path, cluster.kubeconfig)
    yield someone
    someone.types("stop")


def the_one_error(done: subprocess.CompletedProcess[str]) -> str:
    """The one line that says what is wrong; anything more, or a traceback, is a failure of its own."""
    assert done.returncode != 0
    assert "Traceback" not in done.stdout + done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, done.stderr
    return errors[0]


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_detached_it_returns_when_ready_says_what_one_needs_and_stops(
    developer: Developer, cluster: ControlPlane
) -> None:
    developer.env |= {"CHECKLISTS_RETRY_GAPS": "1,1,1,1", "CHECKLISTS_RATE_LIMIT": "off"}
    done = developer.types("run", "--detach")
    assert done.returncode == 0, done.stderr
    info = developer.info()
    for shown in (info["base_url"], info["api_key"], info["link"], "curl", "get clrun", "--watch", "are allowed here"):
        assert shown in done.stdout
    assert httpx.get(info["base_url"] + "/readyz").status_code == 200
    assert info["kubeconfig"] == str(cluster.kubeconfig)
    assert {"base_url", "api_key", "organization_id", "template_id", "link", "kubeconfig", "kubectl"} <= set(info)
    assert (developer.state / "service.json").stat().st_mode & 0o777 == 0o600
    assert (developer.state / "remembered.json").stat().st_mode & 0o777 == 0o600
    assert info["api_key"] not in developer.log
    objects = cluster.run_kubectl(
        "get", "apikeys,members,organizations,secrets,configmaps", "-A", "-o", "json", "--show-managed-fields"
    )
    assert info["api_key"] not in objects, "the cluster knows the key by its digest only"
    assert f'"lastFour": "{info["api_key"][-4:]}"' in objects
    for url in (info["base_url"], info["operator_url"]):
        settings = developer.settings(url)
        assert settings["CHECKLISTS_NAMESPACE"] == "checklists"
        assert settings["CHECKLISTS_ALLOW_INSECURE_TARGETS"] == "1"
        assert settings["CHECKLISTS_RETRY_GAPS"] == "1,1,1,1"
        assert settings["CHECKLISTS_RATE_LIMIT"] == "off"
        assert settings["CHECKLISTS_SEALING_KEYS"].startswith("k1:")
        assert len(settings["CHECKLISTS_SERVER_KEY"]) == 44
        assert settings["CHECKLISTS_BASE_URL"] == info["base_url"]
        assert settings["CHECKLISTS_PHOTO_STORE"] == (developer.state / "photos").as_uri()
    for arguments in (["run"], ["run", "--detach"]):
        assert "the service runs already on http://127.0.0.1" in the_one_error(developer.types(*arguments))

    former = info["pids"]["api"]
    os.kill(former, signal.SIGKILL)
    eventually_sync(lambda: developer.info()["pids"].get("api", former) != former)
    assert "the api was ended by SIGKILL: starting it again in 1 s" in developer.log
    pids = developer.info()["pids"]
    assert {"supervisor", "api", "operator"} <= set(pids)
    assert developer.types("stop").returncode == 0
    assert all(is_gone(pid) for pid in pids.values())
    assert not (developer.state / "service.json").exists()
    again = developer.types("stop")
    assert (again.returncode, again.stderr.strip()) == (0, "no service is running")


def test_the_next_start_has_the_same_organization_and_keys_and_another_sign_in_link(
    developer: Developer, cluster: ControlPlane
) -> None:
    infos, tokens, keys, printed = [], set(), [], ""
    developer.env["CHECKLISTS_ALLOW_INSECURE_TARGETS"] = "0"
    for _ in range(2):
        printed = developer.types("run", "--detach").stdout
        infos.append(info := developer.info())
        settings = developer.settings(info["base_url"])
        keys.append([settings[name] for name in ("CHECKLISTS_SERVER_KEY", "CHECKLISTS_SEALING_KEYS")])
        link = info["sign_in_link"]
        assert link in printed
        assert link.startswith(info["base_url"] + "/dashboard/sign-in#link=")
        assert link not in developer.log
        token = link.partition("#link=")[2]
        account = cluster.run_kubectl("get", "localaccounts", str(account_of(token)), "-n", "checklists", "-o", "json")
        spec = json.loads(account)["spec"]
        assert spec["link"]["sha256"] == digest(token)
        members = json.loads(cluster.run_kubectl("get", "members", "-n", "checklists", "-o", "json"))["items"]
        assert spec["email"] in {one["spec"]["email"] for one in members if one["spec"]["role"] == "admin"}
        tokens.add(token)
        os.kill(info["pids"]["supervisor"], signal.SIGKILL)  # that leaves no process, and the next start works
        eventually_sync(lambda info=info: all(is_gone(pid) for pid in info["pids"].values()))
    assert "as before" in printed
    assert "Webhooks to http and to this machine are refused here" in printed
    assert len(tokens) == 2
    assert keys[0] == keys[1]
    assert [infos[0][name] for name in ("api_key", "organization_id")] == [
        infos[1][name] for name in ("api_key", "organization_id")
    ]


def test_a_revoked_key_is_replaced_a_provider_needs_no_link_and_newer_definitions_stay(
    developer: Developer, cluster: ControlPlane
) -> None:
    assert developer.types("run", "--detach").returncode == 0
    first = developer.info()
    of_the_organization = f"checklists.dev/org={first['organization_id']}"
    name = cluster.run_kubectl("get", "apikeys", "-n", "checklists", "-l", of_the_organization, "-o", "name").strip()
    cluster.run_kubectl("patch", name, "-n", "checklists", "--type=merge", "-p", '{"spec": {"revoked": true}}')
    developer.types("stop")
    developer.env["STAND_IN_HAS_PROVIDER"] = "1"
    done = developer.types("run", "--detach")
    second = developer.info()
    developer.types("stop")
    assert second["organization_id"] == first["organization_id"]
    assert second["api_key"] != first["api_key"]
    assert "#link=" not in done.stdout
    assert f"{second['base_url']}/dashboard" in done.stdout

    # Newer definitions in the cluster are not overwritten.
    annotate = ("annotate", "crd/runs.checklists.dev", "--overwrite")
    former = json.loads(cluster.run_kubectl("get", "crd/runs.checklists.dev", "-o", "json"))["metadata"]["annotations"]
    cluster.run_kubectl(*annotate, f"{VERSION_ANNOTATION}=99")
    try:
        assert "has version 99 of runs.checklists.dev" in the_one_error(developer.types("run"))
    finally:
        cluster.run_kubectl(*annotate, f"{VERSION_ANNOTATION}={former[VERSION_ANNOTATION]}")


def test_ctrl_c_in_the_terminal_ends_everything_cleanly(developer: Developer) -> None:
    process = subprocess.Popen(
        developer.command("run"), env=developer.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    eventually_sync(lambda: (developer.state / "service.json").exists() and "pids" in developer.info())
    pids = developer.info()["pids"]
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "Traceback" not in output + errors
    assert errors.splitlines()[-1] == "ended"
    assert all(is_gone(pid) for pid in pids.values())


def test_what_makes_a_start_impossible_is_one_clear_line(developer: Developer, tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", developer.port))
        other.listen()
        for arguments in (["run"], ["run", "--detach"]):
            assert f"port {developer.port} is used" in the_one_error(developer.types(*arguments))
    for part in ("api", "operator"):
        developer.env["STAND_IN_FAILS"] = part
        message = the_one_error(developer.types("run", "--detach"))
        assert f"{part} ended with code 1: no configuration" in message
        assert not (developer.state / "service.json").exists()
    config = Path(developer.env["KUBECONFIG"]).read_text()
    server = json.loads(config)["clusters"][0]["cluster"]["server"]
    unreachable = tmp_path / "kubeconfig"
    unreachable.write_text(config.replace(server, "https://127.0.0.1:1"))
    developer.env["KUBECONFIG"] = str(unreachable)
    assert "cannot be reached" in the_one_error(developer.types("run"))
    developer.env["KUBECONFIG"] = str(tmp_path / "nothing")
    assert "a missing file" in the_one_error(developer.types("run"))


def test_without_a_cluster_it_brings_its_own_and_keeps_the_data(tmp_path: Path) -> None:
    developer = Developer(tmp_path, None)
    try:
        assert developer.types("run", "--detach").returncode == 0
        first = developer.info()
        keys = [first["kubeconfig"], *(path for path in developer.state.rglob("pki/*") if path.is_file())]
        assert len(keys) > 3 and not any(Path(path).stat().st_mode & 0o077 for path in keys)
        for part in ("etcd", "kube-apiserver"):
            former = first["pids"][part]
            os.kill(former, signal.SIGKILL)
            eventually_sync(lambda part=part, former=former: developer.info()["pids"].get(part, former) != former)
        first = developer.info()
        assert developer.types("stop").returncode == 0
        assert all(is_gone(pid) for pid in first["pids"].values())

        # Who pastes the KUBECONFIG that was printed into the shell means no other cluster by it.
        developer.env["KUBECONFIG"] = first["kubeconfig"]
        again = developer.types("run", "--detach")
        assert again.returncode == 0, again.stderr
        assert developer.info()["api_key"] == first["api_key"]
    finally:
        developer.types("stop")


def test_a_control_plane_alone_prints_its_kubeconfig_and_leaves_nothing_at_its_end() -> None:
    command = [sys.executable, "-m", "checklist_dev.local.controlplane", "up", "--ephemeral"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    kubeconfig = Path(process.stdout.readline().strip().removeprefix("export KUBECONFIG="))
    assert kubeconfig.is_file()
    process.terminate()
    assert process.wait(15) == 0
    assert not kubeconfig.parent.exists()
