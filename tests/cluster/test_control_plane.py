"""The local control plane: what everybody who runs `make run`, `make test` or `make cluster` relies on."""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.waiting import eventually_sync

from checklist_dev import tether
from checklist_dev.controlplane import ControlPlane
from checklist_dev.failures import Failure
from checklist_dev.kubectl import Kubectl
from checklist_dev.ports import free_ports
from checklist_dev.processes import TETHER, Child


def exists(pid: int) -> bool:
    """Whether the process runs (a zombie, which only waits to be reaped, does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.fixture(scope="module")
def second(tmp_path_factory: pytest.TempPathFactory, control_plane: ControlPlane) -> Iterator[ControlPlane]:
    """Another one, with data that lasts, beside the one of the session."""
    with ControlPlane(tmp_path_factory.mktemp("second")) as cluster:
        yield cluster


def test_the_api_serves_a_current_kubernetes(kubectl: Kubectl) -> None:
    assert "Server Version: v1." in kubectl("version")


def test_a_test_gets_a_namespace_of_its_own(kubectl: Kubectl, namespace: str) -> None:
    kubectl("create", "configmap", "mine", "-n", namespace)
    assert "mine" in kubectl("get", "configmaps", "-n", namespace)


def test_the_custom_resources_of_the_project_are_served(kubectl: Kubectl) -> None:
    assert "organizations" in kubectl("api-resources", "--api-group=checklists.dev", "-o", "name")


def test_two_stand_side_by_side_and_do_not_see_each_other(control_plane: ControlPlane, second: ControlPlane) -> None:
    control_plane.run_kubectl("create", "namespace", "only-in-the-first")
    assert control_plane.server != second.server
    assert "only-in-the-first" not in second.run_kubectl("get", "namespaces")


def test_data_and_address_are_the_same_after_a_restart(second: ControlPlane) -> None:
    second.run_kubectl("create", "namespace", "kept")
    former_server, former_token = second.server, second.token

    second.stop()
    second.start()

    assert (second.server, second.token) == (former_server, former_token)
    assert "kept" in second.run_kubectl("get", "namespaces")


def test_the_api_server_alone_is_killed_and_comes_back_on_its_port(second: ControlPlane) -> None:
    former = second.server

    second.stop_apiserver(kill=True)
    with pytest.raises(Failure, match="refused"):
        second.run_kubectl("get", "namespaces")
    second.start_apiserver()

    assert second.server == former
    assert "default" in second.run_kubectl("get", "namespaces")


def test_what_was_written_survives_a_killed_etcd(second: ControlPlane) -> None:
    second.run_kubectl("create", "namespace", "before-the-crash")

    second.stop_etcd(kill=True)
    second.start_etcd()

    eventually_sync(lambda: "before-the-crash" in second.run_kubectl("get", "namespaces"))


def test_a_paused_api_server_answers_nothing_until_it_goes_on(second: ControlPlane) -> None:
    second.pause_apiserver()
    with pytest.raises(Failure, match=r"[Tt]imeout|deadline|exceeded"):
        second.run_kubectl("get", "namespaces", "--request-timeout=1s")
    second.resume_apiserver()
    assert "default" in second.run_kubectl("get", "namespaces")


def test_what_has_died_is_found_and_started_again(second: ControlPlane) -> None:
    os.kill(second.apiserver.pid, signal.SIGKILL)
    eventually_sync(lambda: not second.apiserver.running)

    assert second.revive() == ["kube-apiserver"]

    assert second.revive() == []
    assert "default" in second.run_kubectl("get", "namespaces")


def test_the_same_data_is_not_served_twice(second: ControlPlane) -> None:
    with pytest.raises(Failure, match="already runs on the data"):
        ControlPlane(second.folder).start()


def test_secrets_on_disk_are_for_the_owner_only(second: ControlPlane) -> None:
    kept = [second.kubeconfig, *(second.folder / "pki").iterdir()]
    assert {path.name: path.stat().st_mode & 0o077 for path in kept if path.is_file()} == {
        path.name: 0 for path in kept if path.is_file()
    }


def test_a_killed_parent_takes_etcd_and_api_server_with_it(control_plane: ControlPlane, tmp_path: Path) -> None:
    # In a worker thread that ends at once: the kernel ties children to threads, users think of processes.
    program = f"""
import sys, threading, time
from pathlib import Path
from checklist_dev.controlplane import ControlPlane
cluster = ControlPlane(Path({str(tmp_path / "data")!r}), ephemeral=True)
thread = threading.Thread(target=cluster.start)
thread.start()
thread.join()
time.sleep(0.3)
assert cluster.etcd.running and cluster.apiserver.running, "ended with the thread that started them"
print(cluster.etcd.pid, cluster.apiserver.pid, flush=True)
time.sleep(600)
"""
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pids = [int(word) for word in parent.stdout.readline().split()]
    assert len(pids) == 2
    assert all(exists(pid) for pid in pids)

    parent.kill()
    parent.wait()

    eventually_sync(lambda: not any(exists(pid) for pid in pids))


def test_throw_away_data_is_gone_after_the_end_and_a_taken_port_is_no_obstacle(
    control_plane: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = [other.getsockname()[1]]
        # The port that was free when it was chosen is taken when etcd wants it.
        monkeypatch.setattr(
            "checklist_dev.controlplane.free_ports", lambda count: [taken.pop()] if taken else free_ports(count)
        )
        cluster = ControlPlane(tmp_path / "data", ephemeral=True)
        cluster.start()
        assert taken == []
        assert "default" in cluster.run_kubectl("get", "namespaces")
    cluster.stop()
    assert not (tmp_path / "data").exists()


def test_the_command_prints_a_kubeconfig_and_ends_on_sigterm(control_plane: ControlPlane) -> None:
    command = [sys.executable, "-m", "checklist_dev.controlplane", "up", "--ephemeral"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    kubeconfig = Path(process.stdout.readline().strip().removeprefix("export KUBECONFIG="))
    assert kubeconfig.is_file()

    process.terminate()

    assert process.wait(15) == 0
    assert not kubeconfig.parent.exists()


def test_a_child_whose_parent_died_before_it_could_tell_the_kernel_does_not_start(tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    nobody = "999999999"
    done = subprocess.run([sys.executable, "-I", "-S", str(TETHER), nobody, "touch", str(touched)], check=False)
    assert done.returncode == 1
    assert not touched.exists()


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    child = Child("ghost", [tmp_path / "no-such-program"], log=tmp_path / "log")
    child.start()
    with pytest.raises(Failure, match=r"ghost ended with code 127: .*no-such-program"):
        child.wait_until(lambda: False, timeout_s=5)


def test_where_the_kernel_cannot_a_watcher_ends_the_program_after_its_parent() -> None:
    parent = subprocess.Popen(["sleep", "60"])
    program = subprocess.Popen(["sleep", "60"])
    watcher = threading.Thread(target=tether.watch, args=(parent.pid, program.pid), daemon=True)
    watcher.start()

    parent.kill()
    parent.wait()

    assert program.wait(5) == -signal.SIGKILL
    watcher.join(5)
    assert not watcher.is_alive()
