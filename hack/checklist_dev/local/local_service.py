"""The whole service as child processes: control plane (or a given cluster), API and operator.

`make run` adds a supervisor; demo, bench and chaos use it directly::

    cluster = ControlPlane(folder / "controlplane", ephemeral=True)
    with LocalService(folder, port=free_ports(1)[0], cluster=cluster) as service:
        httpx.get(service.base_url + "/healthz")
"""

import http.client
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from checklist_dev.failures import Failure, say
from checklist_dev.local.bootstrap import NAMESPACE, Account, ensure_account, prepare_cluster
from checklist_dev.local.kubectl import Kubectl
from checklist_dev.repository import ROOT
from checklist_dev.system.ports import free_ports, http_get, port_is_free
from checklist_dev.system.processes import Child

READY_S = 60.0
LONGEST_BACKOFF_S = 30.0
# After running so long a process did not fail at its start: the next restart need not wait.
SETTLED_S = 60.0

Report = Callable[[str], None]


class Cluster(Protocol):
    """The common interface of ControlPlane and ExternalCluster."""

    run_kubectl: Kubectl

    @property
    def kubeconfig(self) -> Path | str: ...
    @property
    def kubectl(self) -> Path: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def revive(self) -> list[str]: ...
    def pids(self) -> dict[str, int]: ...
    def logs(self) -> dict[str, str]: ...


class LocalService:
    """Starts, stops and supervises the parts. Raises Failure if a part cannot be started.

    `settings`: environment variables for API and operator in addition to this process's; `remembered`: the account of
    the last start (`organization_id`, `member_id`, `api_key`).
    """

    def __init__(
        self,
        folder: Path,
        *,
        port: int,
        cluster: Cluster,
        base_url: str | None = None,
        settings: Mapping[str, str] | None = None,
        remembered: Mapping[str, Any] | None = None,
        runs_per_month: int | None = None,
        report: Report = say,
    ) -> None:
        self.cluster = cluster
        self.port = port
        self.base_url = base_url or f"http://127.0.0.1:{port}"
        self.local_url = f"http://127.0.0.1:{port}"
        self.operator_port = 0
        self._folder = folder
        self._settings = dict(settings or {})
        self._remembered = dict(remembered or {})
        self._runs_per_month = runs_per_month
        self._report = report
        self._account: Account | None = None
        self._children: dict[str, Child] = {}
        self._backoffs: dict[str, _Backoff] = {}

    @property
    def account(self) -> Account:
        if self._account is None:
            raise Failure("the service has not been started")
        return self._account

    @property
    def api(self) -> Child:
        return self._child("api")

    @property
    def operator(self) -> Child:
        return self._child("operator")

    def pids(self) -> dict[str, int]:
        ours = {name: child.pid for name, child in self._children.items() if child.running}
        return {**ours, **self.cluster.pids()}

    def logs(self) -> dict[str, str]:
        return {**{name: str(child.log) for name, child in self._children.items()}, **self.cluster.logs()}

    def start(self) -> None:
        """Start everything and wait until API and operator are ready."""
        if not port_is_free(self.port):
            raise Failure(f"port {self.port} is used by another program: set another one, as CHECKLISTS_PORT=8081")
        try:
            started = time.monotonic()
            self._report("waiting for the Kubernetes API")
            self.cluster.start()
            self._report(f"the Kubernetes API is ready ({time.monotonic() - started:.1f} s)")
            keys = prepare_cluster(self.cluster.run_kubectl, report=self._report)
            self._account = ensure_account(
                self.cluster.run_kubectl, self._remembered, runs_per_month=self._runs_per_month, report=self._report
            )
            self.operator_port = free_ports(1)[0]
            env = {
                **os.environ,
                "CHECKLISTS_ALLOW_INSECURE_TARGETS": "1",
                "CHECKLISTS_HOST": "127.0.0.1",
                "CHECKLISTS_SWEEP_LINK_SECRETS": "1",  # the local cluster has no garbage collector
                "CHECKLISTS_PHOTO_STORE": os.environ.get("CHECKLISTS_PHOTO_STORE")
                or (self._folder / "photos").absolute().as_uri(),
                **self._settings,
                "KUBECONFIG": str(self.cluster.kubeconfig),
                "CHECKLISTS_NAMESPACE": NAMESPACE,
                "CHECKLISTS_PORT": str(self.port),
                "CHECKLISTS_OPERATOR_PORT": str(self.operator_port),
                "CHECKLISTS_BASE_URL": self.base_url,
                "CHECKLISTS_SERVER_KEY": keys.server_key,
                "CHECKLISTS_SEALING_KEYS": keys.sealing_keys,
                "PYTHONUNBUFFERED": "1",
            }
            for name, module in (("operator", "checklist_operator"), ("api", "checklist_api")):
                child = Child(
                    name, [sys.executable, "-m", module], log=self._folder / "logs" / f"{name}.log", env=env, cwd=ROOT
                )
                self._children[name] = child
                self._backoffs[name] = _Backoff()
                child.start()
            for name, port in (("operator", self.operator_port), ("api", self.port)):
                self._report(f"starting the {name}")
                self._children[name].wait_until(lambda port=port: is_ready(port), timeout_s=READY_S)  # type: ignore[misc]
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop API and operator, then the cluster if it is ours."""
        for name in ("api", "operator"):
            if name in self._children:
                self._children[name].stop()
        self._children.clear()
        self.cluster.stop()

    def look_after(self) -> bool:
        """Restart what has ended by itself, with a growing delay; returns whether anything was started.

        Call it about twice a second.
        """
        revived = self.cluster.revive()
        for name in revived:
            self._report(f"{name} had ended: started again")
        started = bool(revived)
        for name, child in self._children.items():
            backoff = self._backoffs[name]
            if child.running:
                backoff.saw_running()
                continue
            if backoff.saw_ended():
                self._report(f"the {name} {child.epitaph()}: starting it again in {backoff.pause_s:.0f} s")
            if backoff.is_over():
                child.start()
                backoff.started()
                started = True
        return started

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def _child(self, name: str) -> Child:
        if name not in self._children:
            raise Failure(f"the {name} has not been started")
        return self._children[name]


class _Backoff:
    """The delay before the next start: 1 s, 2 s, 4 s ... 30 s; reset after a minute of running."""

    def __init__(self) -> None:
        self.pause_s = 0.0
        self._started_at = time.monotonic()
        self._due: float | None = None

    def saw_running(self) -> None:
        if self.pause_s and time.monotonic() - self._started_at > SETTLED_S:
            self.pause_s = 0.0

    def saw_ended(self) -> bool:
        """Whether it is the first time after a start."""
        if self._due is not None:
            return False
        self.pause_s = min(max(1.0, self.pause_s * 2), LONGEST_BACKOFF_S)
        self._due = time.monotonic() + self.pause_s
        return True

    def is_over(self) -> bool:
        return self._due is not None and time.monotonic() >= self._due

    def started(self) -> None:
        self._due = None
        self._started_at = time.monotonic()


def is_ready(port: int) -> bool:
    """Whether the API or operator at this local port is ready."""
    return http_get(http.client.HTTPConnection("127.0.0.1", port, timeout=5), "/readyz")[0] == 200
