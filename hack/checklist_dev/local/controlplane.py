"""A real Kubernetes API on loopback: etcd and kube-apiserver as processes, ready in about three seconds.

Standalone: `python -m checklist_dev.local.controlplane up` prints a KUBECONFIG and serves until Ctrl-C. In code::

    with ControlPlane(folder, ephemeral=True) as cluster:
        cluster.run_kubectl("get", "namespaces")

There is no controller manager: no garbage collection by owner reference, deleted namespaces stay Terminating, and no
service account tokens are created.
"""

import argparse
import fcntl
import http.client
import json
import os
import shutil
import ssl
import tempfile
import time
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO

from checklist_dev.failures import Failure, end_on_signals, run_tool, say
from checklist_dev.local.certificates import Credentials, credentials_in
from checklist_dev.local.kubectl import kubectl_for
from checklist_dev.programs.binaries import Binaries, find_binaries
from checklist_dev.system.ports import free_ports, http_get, port_is_free
from checklist_dev.system.processes import Child

ATTEMPTS = 5
ETCD_READY_S = 60.0
APISERVER_READY_S = 90.0
STOP_GRACE_S = 10.0
ETCD_QUOTA_BYTES = 6 << 30
# Its heap is small and its garbage large: by default it spends a quarter of its time on garbage collection.
APISERVER_GOGC = "400"
# Above it, garbage is collected earlier (Go's GOMEMLIMIT). It must exceed the live heap, or the server collects all the
# time: a cluster with 100,000 runs gets no target.
APISERVER_MEMORY_TARGET = "900MiB"


class ControlPlane:
    """One etcd and one kube-apiserver with their data in `folder`.

    With `ephemeral`, etcd does not sync to disk and `stop()` removes the folder. Otherwise a later start with the same
    folder reuses the data, and the ports if they are free. `apiserver_options` are added to kube-apiserver's command
    line. `memory_target` is its GOMEMLIMIT (None: no target); GOGC and GOMEMLIMIT of the environment take precedence.
    Every method returns when its work is done, and raises Failure otherwise.
    """

    def __init__(
        self,
        folder: Path,
        *,
        ephemeral: bool = False,
        binaries: Binaries | None = None,
        apiserver_options: Sequence[str] = (),
        memory_target: str | None = APISERVER_MEMORY_TARGET,
    ) -> None:
        self.folder = folder.absolute()
        self.ephemeral = ephemeral
        self._apiserver_options = tuple(apiserver_options)
        self._memory_target = memory_target
        self.kubeconfig = self.folder / "kubeconfig"
        self.run_kubectl = kubectl_for(lambda: self.kubectl, self.kubeconfig)
        """`run_kubectl("get", "namespaces")`: see `checklist_dev.local.kubectl.Kubectl`."""
        self._binaries = binaries
        self._lock: TextIO | None = None
        self._credentials: Credentials | None = None
        self._ports = {"etcd": 0, "etcd-peer": 0, "apiserver": 0}
        self._etcd: Child | None = None
        self._apiserver: Child | None = None

    @property
    def binaries(self) -> Binaries:
        if self._binaries is None:
            self._binaries = find_binaries()
        return self._binaries

    @property
    def kubectl(self) -> Path:
        """A kubectl for this server; pass it `--kubeconfig` or set KUBECONFIG."""
        return self.binaries.kubectl

    @property
    def server(self) -> str:
        """`https://127.0.0.1:PORT`"""
        return f"https://127.0.0.1:{self._ports['apiserver']}"

    @property
    def etcd_url(self) -> str:
        """`http://127.0.0.1:PORT` of etcd itself, for its metrics and administration."""
        return f"http://127.0.0.1:{self._ports['etcd']}"

    @property
    def token(self) -> str:
        """The administrator's bearer token."""
        return self.credentials.token

    @property
    def credentials(self) -> Credentials:
        if self._credentials is None:
            self._credentials = credentials_in(self.folder / "pki")
        return self._credentials

    @property
    def etcd(self) -> Child:
        if self._etcd is None:
            raise Failure("the control plane is not running")
        return self._etcd

    @property
    def apiserver(self) -> Child:
        if self._apiserver is None:
            raise Failure("the control plane is not running")
        return self._apiserver

    def start(self) -> None:
        """Start both and wait until the API is ready."""
        _ = self.binaries  # building them can take minutes and does not need the lock
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._take_lock()
        try:
            self._restore_ports()
            self.start_etcd()
            self.start_apiserver()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop both, the API first. With `ephemeral` the data is removed."""
        self.stop_apiserver(kill=self.ephemeral)
        self.stop_etcd(kill=self.ephemeral)
        if self._lock:
            if self.ephemeral:
                shutil.rmtree(self.folder, ignore_errors=True)
            self._lock.close()
            self._lock = None

    def start_etcd(self) -> None:
        if self._etcd is None:
            self._etcd = self._start_on_free_ports("etcd", ("etcd", "etcd-peer"))

    def stop_etcd(self, *, kill: bool = False) -> None:
        if self._etcd:
            self._etcd.stop(grace_s=0 if kill else STOP_GRACE_S)
            self._etcd = None

    def start_apiserver(self) -> None:
        """Start kube-apiserver, on its previous port if it ran before."""
        if self._apiserver is None:
            self._apiserver = self._start_on_free_ports("apiserver", ("apiserver",))
            self._write_kubeconfig()

    def stop_apiserver(self, *, kill: bool = False) -> None:
        if self._apiserver:
            self._apiserver.stop(grace_s=0 if kill else STOP_GRACE_S)
            self._apiserver = None

    def pause_apiserver(self) -> None:
        """Make the API accept connections without answering, until `resume_apiserver()`."""
        self.apiserver.pause()

    def resume_apiserver(self) -> None:
        self.apiserver.resume()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def revive(self) -> list[str]:
        """Restart processes that ended by themselves; returns their names."""
        ended = [child.name for child in (self.etcd, self.apiserver) if not child.running]
        if self.etcd.name in ended:
            self.stop_etcd()
            former = self._ports["etcd"]
            self.start_etcd()
            if self._ports["etcd"] != former:  # the API server has the old port
                self.stop_apiserver()
        if self._apiserver is None or not self._apiserver.running:
            self.stop_apiserver()
            self.start_apiserver()
        return ended

    def metrics(self) -> str:
        """The API server's Prometheus metrics, several megabytes. Raises OSError if it does not answer."""
        context = ssl.create_default_context(cafile=str(self.credentials.authority))
        connection = http.client.HTTPSConnection("127.0.0.1", self._ports["apiserver"], timeout=10, context=context)
        try:
            connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {self.token}"})
            return connection.getresponse().read().decode()
        finally:
            connection.close()

    def pids(self) -> dict[str, int]:
        return {child.name: child.pid for child in (self.etcd, self.apiserver)}

    def logs(self) -> dict[str, str]:
        return {child.name: str(child.log) for child in (self.etcd, self.apiserver)}

    def _take_lock(self) -> None:
        lock = (self.folder / "lock").open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            lock.close()
            raise Failure(f"a control plane already runs on the data in {self.folder}") from error
        self._lock = lock

    def _restore_ports(self) -> None:
        """Reuse the ports of the previous start, so that copied kubeconfigs stay valid."""
        try:
            former = json.loads((self.folder / "ports.json").read_text())
            self._ports = {name: int(former[name]) for name in self._ports}
        except (OSError, ValueError, KeyError, TypeError):
            pass

    def _start_on_free_ports(self, name: str, ports: tuple[str, ...]) -> Child:
        """Start one of the two. If another program takes a port in between, choose another one."""
        make, ready_s = (self._make_etcd, ETCD_READY_S) if name == "etcd" else (self._make_apiserver, APISERVER_READY_S)
        for attempt in range(1, ATTEMPTS + 1):
            for port in ports:
                # Clients may have the port, so it is changed only after a conflict.
                if not self._ports[port] or (attempt > 1 or not port_is_free(self._ports[port])):
                    self._ports[port] = free_ports(1)[0]
            child = make()
            child.start()
            try:
                child.wait_until(self._etcd_ready if name == "etcd" else self._apiserver_ready, timeout_s=ready_s)
            except BaseException:
                clash = not child.running and "address already in use" in child.output()
                child.stop(grace_s=0)
                if clash and attempt < ATTEMPTS:
                    continue
                raise
            (self.folder / "ports.json").write_text(json.dumps(self._ports))
            return child
        raise Failure(f"no free port was found for {name}")

    def _make_etcd(self) -> Child:
        client, peer = (f"http://127.0.0.1:{self._ports[name]}" for name in ("etcd", "etcd-peer"))
        command: list[str | Path] = [
            self.binaries.etcd,
            "--name=default",
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            f"--quota-backend-bytes={ETCD_QUOTA_BYTES}",
            "--log-level=warn",
        ]
        if self.ephemeral:
            command.append("--unsafe-no-fsync")
        return Child("etcd", command, log=self.folder / "logs" / "etcd.log")

    def _make_apiserver(self) -> Child:
        files = self.credentials
        command: list[str | Path] = [
            self.binaries.kube_apiserver,
            f"--etcd-servers=http://127.0.0.1:{self._ports['etcd']}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self._ports['apiserver']}",
            f"--tls-cert-file={files.certificate}",
            f"--tls-private-key-file={files.key}",
            f"--cert-dir={self.folder / 'pki'}",
            "--authorization-mode=RBAC",
            f"--token-auth-file={files.tokens}",
            f"--client-ca-file={files.authority}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={files.service_account_key}",
            f"--service-account-signing-key-file={files.service_account_key}",
            "--service-cluster-ip-range=10.0.0.0/24",
            # It would make pods wait for service accounts, which only the controller manager creates.
            "--disable-admission-plugins=ServiceAccount",
            # It cannot publish a loopback address as the endpoint of the service `kubernetes`.
            "--endpoint-reconciler-type=none",
            *self._apiserver_options,
        ]
        target = {"GOMEMLIMIT": self._memory_target} if self._memory_target else {}
        env = {"GOGC": APISERVER_GOGC, **target, **os.environ}
        return Child("kube-apiserver", command, log=self.folder / "logs" / "kube-apiserver.log", env=env)

    def _etcd_ready(self) -> bool:
        return http_get(http.client.HTTPConnection("127.0.0.1", self._ports["etcd"], timeout=1), "/readyz")[0] == 200

    def _apiserver_ready(self) -> bool:
        context = ssl.create_default_context(cafile=str(self.credentials.authority))
        connection = http.client.HTTPSConnection("127.0.0.1", self._ports["apiserver"], timeout=5, context=context)
        return http_get(connection, "/readyz")[0] == 200

    def _write_kubeconfig(self) -> None:
        """Write it self-contained (no paths), so that it can be copied, and atomically by a rename."""
        name = "checklist-dispatch"
        authority = b64encode(self.credentials.authority.read_bytes()).decode()
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": {"server": self.server, "certificate-authority-data": authority}}],
            "users": [{"name": "admin", "user": {"token": self.token}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": "admin"}}],
            "current-context": name,
        }
        descriptor, path = tempfile.mkstemp(dir=self.folder, prefix="kubeconfig.")
        with os.fdopen(descriptor, "w") as file:
            json.dump(config, file, indent=2)
        Path(path).replace(self.kubeconfig)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m checklist_dev.local.controlplane",
        description="A real Kubernetes API (etcd and kube-apiserver) on loopback, without containers.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="start it, print its KUBECONFIG, serve until Ctrl-C")
    up.add_argument("--data", type=Path, default=Path(".run/cluster"), help="data folder (default: %(default)s)")
    up.add_argument("--ephemeral", action="store_true", help="use a temporary folder and remove it at the end")
    arguments = parser.parse_args()
    return _serve(arguments.data, ephemeral=arguments.ephemeral)


def _serve(data: Path, *, ephemeral: bool) -> int:
    end_on_signals()
    folder = Path(tempfile.mkdtemp(prefix="checklist-cluster-")) if ephemeral else data
    with ControlPlane(folder, ephemeral=ephemeral) as cluster:
        try:
            say(f"{cluster.server} is ready ({cluster.binaries.source}); Ctrl-C ends it. To use it:")
            print(f"export KUBECONFIG={cluster.kubeconfig}", flush=True)
            say(f"{cluster.kubectl} get namespaces")
            while True:
                time.sleep(1.0)
                for child in (cluster.etcd, cluster.apiserver):
                    if not child.running:
                        raise Failure(f"{child.name} {child.epitaph()}")
        except KeyboardInterrupt:
            say("ending")
    return 0


if __name__ == "__main__":
    run_tool(main)
