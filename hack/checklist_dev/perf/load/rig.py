"""The service as processes that a test can kill: one control plane, any number of APIs, an operator, a receiver.

Unlike `LocalService`, it does not restart what has ended; the caller does::

    with Rig(folder, fsync=True, settings={"CHECKLISTS_RETRY_GAPS": "0.5,1,2,3"}) as rig:
        account = rig.new_account(runs_per_month=500)
        api, operator = rig.add_api(), rig.add_operator()
        rig.start_all()
        api.kill()
        api.start()
"""

import http.client
import os
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from checklist_dev.failures import Failure, say
from checklist_dev.local.bootstrap import NAMESPACE, Account, ServerKeys, ensure_account, prepare_cluster
from checklist_dev.local.controlplane import APISERVER_MEMORY_TARGET, ControlPlane
from checklist_dev.local.local_service import Report
from checklist_dev.perf.load.probes import resident_mib
from checklist_dev.repository import ROOT
from checklist_dev.system.ports import free_ports, http_get, port_is_free
from checklist_dev.system.processes import Child

READY_S = 60.0
OPERATOR_ID = "operator-under-test"


class Program:
    """One process of the service at a fixed port."""

    def __init__(self, child: Child, port: int) -> None:
        self.child = child
        self.name = child.name
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.started_at = 0.0

    def start(self) -> None:
        """Start without waiting; see `wait_ready`."""
        self.started_at = time.monotonic()
        self.child.start()

    def run_from(self, code: Path) -> None:
        """Use the packages of another checkout from the next start on."""
        roots = [str(code / root) for root in ("crds", "operator", "api", "composer", "cli")]
        self.child.reconfigure(cwd=code, PYTHONPATH=os.pathsep.join(roots))

    def is_ready(self) -> bool:
        return self.get("/readyz")[0] == http.client.OK

    def wait_ready(self, *, timeout_s: float = READY_S) -> float:
        """Seconds from start to ready. Raises Failure if it ends before, or takes too long."""
        self.child.wait_until(self.is_ready, timeout_s=timeout_s, interval_s=0.02)
        return time.monotonic() - self.started_at

    def get(self, path: str) -> tuple[int, str]:
        """Status and text; (0, "") without an answer."""
        return http_get(http.client.HTTPConnection("127.0.0.1", self.port, timeout=5), path)

    def kill(self) -> None:
        """Kill the process with SIGKILL and wait until it is gone."""
        self.child.kill()

    def rss_mib(self) -> float:
        """Resident memory. Raises Failure if it is not available."""
        try:
            return resident_mib(self.child.pid)
        except OSError as error:
            raise Failure(f"the memory of {self.name} is unknown here: {error}") from None


class Rig:
    """Raises Failure if a part cannot be started. The data is removed at the end, logs are kept.

    With `fsync`, etcd syncs to disk as in `make run`.
    """

    def __init__(
        self,
        folder: Path,
        *,
        fsync: bool,
        settings: Mapping[str, str] | None = None,
        apiserver_options: Sequence[str] = (),
        memory_target: str | None = APISERVER_MEMORY_TARGET,
        report: Report = say,
    ) -> None:
        self.folder = folder
        self.fsync = fsync
        self.cluster = ControlPlane(
            folder / "controlplane",
            ephemeral=not fsync,
            apiserver_options=apiserver_options,
            memory_target=memory_target,
        )
        self.programs: dict[str, Program] = {}
        self.apis: list[Program] = []
        self.receivers: list[Child] = []
        self._settings = dict(settings or {})
        self._keys: ServerKeys | None = None
        self._report = report

    @property
    def keys(self) -> ServerKeys:
        if self._keys is None:
            raise Failure("the rig has not been started")
        return self._keys

    def start(self) -> None:
        """Start the control plane with CRDs, namespace and server keys, without the service."""
        shutil.rmtree(self.folder, ignore_errors=True)
        started = time.monotonic()
        try:
            self.cluster.start()
            self._keys = prepare_cluster(self.cluster.run_kubectl, report=lambda line: None)
        except BaseException:
            self.stop()
            raise
        self._report(f"a control plane is ready ({time.monotonic() - started:.1f} s)")

    def stop(self) -> None:
        for program in self.programs.values():
            program.child.stop(grace_s=3.0 if program.child.running else 0.0)
        for receiver in self.receivers:
            receiver.stop()
        etcd_log, apiserver_log = (self.cluster.folder / "logs" / f"{name}.log" for name in ("etcd", "kube-apiserver"))
        for log in (etcd_log, apiserver_log):
            if log.exists():
                (self.folder / "logs").mkdir(exist_ok=True)
                shutil.copy(log, self.folder / "logs" / log.name)
        self.cluster.stop()
        shutil.rmtree(self.cluster.folder, ignore_errors=True)

    def new_account(self, *, runs_per_month: int | None = None) -> Account:
        """Create an organization with a member and a key; None: no limit."""
        return ensure_account(self.cluster.run_kubectl, {}, runs_per_month=runs_per_month, report=lambda line: None)

    def add_api(self, name: str = "api") -> Program:
        api = self._add(name, "checklist_api", "CHECKLISTS_PORT")
        self.apis.append(api)
        return api

    def add_operator(self, name: str = "operator", *, identity: str = OPERATOR_ID) -> Program:
        """An operator with a fixed identity, so that after a restart it need not wait for its own lease to expire."""
        return self._add(name, "checklist_operator", "CHECKLISTS_OPERATOR_PORT", CHECKLISTS_OPERATOR_ID=identity)

    def start_all(self) -> None:
        """Start all programs and wait until they are ready."""
        for program in self.programs.values():
            program.start()
        for program in self.programs.values():
            program.wait_ready()

    def start_receiver(self, name: str = "receiver", *, hosts: Sequence[str] = ("127.0.0.1",), seed: int = 0) -> int:
        """Start a receiver process and return its port; its log is `receiver_log(name)`."""
        port = free_ports(1)[0]
        command: list[str | Path] = [
            *(sys.executable, "-m", "checklist_dev.perf.load.receiver"),
            *("--port", str(port), "--seed", str(seed), "--log", self.receiver_log(name)),
            *(word for host in hosts for word in ("--host", host)),
        ]
        child = Child(name, command, log=self.folder / "logs" / f"{name}.log", cwd=ROOT)
        self.receivers.append(child)
        child.start()
        child.wait_until(lambda: not port_is_free(port), timeout_s=READY_S)
        return port

    def stop_receivers(self) -> None:
        """Stop the receivers, which completes their logs."""
        for receiver in self.receivers:
            receiver.stop()
        self.receivers.clear()

    def receiver_log(self, name: str = "receiver") -> Path:
        return self.folder / "logs" / f"{name}.jsonl"

    def pids(self) -> dict[str, int]:
        """Process ids of the control plane and all programs, by name."""
        return {**self.cluster.pids(), **{name: program.child.pid for name, program in self.programs.items()}}

    def logs(self) -> dict[str, str]:
        return {program.name: str(program.child.log) for program in self.programs.values()}

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def _add(self, name: str, module: str, port_setting: str, **own: str) -> Program:
        port = free_ports(1)[0]
        # The operator signs URLs of the API that was added last.
        api_port = self.apis[-1].port if self.apis and module != "checklist_api" else port
        env = {
            **{key: value for key, value in os.environ.items() if not key.startswith("CHECKLISTS_")},
            "CHECKLISTS_ALLOW_INSECURE_TARGETS": "1",
            "CHECKLISTS_RATE_LIMIT": "off",
            "CHECKLISTS_PHOTO_STORE": (self.folder / "photos").absolute().as_uri(),
            **self._settings,
            **own,
            "KUBECONFIG": str(self.cluster.kubeconfig),
            "CHECKLISTS_NAMESPACE": NAMESPACE,
            "CHECKLISTS_HOST": "127.0.0.1",
            port_setting: str(port),
            "CHECKLISTS_BASE_URL": f"http://127.0.0.1:{api_port}",
            "CHECKLISTS_SERVER_KEY": self.keys.server_key,
            "CHECKLISTS_SEALING_KEYS": self.keys.sealing_keys,
            "PYTHONUNBUFFERED": "1",
        }
        log = self.folder / "logs" / f"{name}.log"
        program = Program(Child(name, [sys.executable, "-m", module], log=log, env=env, cwd=ROOT), port)
        self.programs[name] = program
        return program
