"""The local control plane of `make run`, `make test` and `make cluster`."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.waiting import eventually_sync

from checklist_dev.controlplane import ControlPlane
from checklist_dev.failures import Failure
from checklist_dev.ports import free_ports
from checklist_dev.processes import TETHER, Child


def exists(pid: int) -> bool:
    """Whether the process runs (a zombie, which only waits to be reaped, does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_the_same_data_is_not_served_twice_and_secrets_on_disk_are_for_the_owner_only(
    control_plane: ControlPlane,
) -> None:
    with pytest.raises(Failure, match="already runs on the data"):
        ControlPlane(control_plane.folder).start()
    kept = [path for path in (control_plane.kubeconfig, *(control_plane.folder / "pki").iterdir()) if path.is_file()]
    assert [path.name for path in kept if path.stat().st_mode & 0o077] == []


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
