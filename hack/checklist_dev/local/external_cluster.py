"""An existing cluster (`KUBECONFIG=... make run`) with the interface of ControlPlane."""

import json
import os
import shutil
import subprocess
from pathlib import Path

from checklist_dev.failures import Failure
from checklist_dev.local.kubectl import kubectl_for
from checklist_dev.programs.binaries import OLDEST_KUBERNETES, cached_kubectl, program_version

ANSWER_S = 10


class ExternalCluster:
    """A cluster that we neither start nor stop; `start()` checks that it answers and is new enough."""

    def __init__(self, kubeconfig: str) -> None:
        self.kubeconfig = kubeconfig
        self._kubectl: Path | None = None
        self.run_kubectl = kubectl_for(lambda: self.kubectl, kubeconfig)

    @property
    def kubectl(self) -> Path:
        """The one on PATH, in any version, since it is the one for the cluster; else ours."""
        if self._kubectl is None:
            found = shutil.which("kubectl")
            self._kubectl = Path(found) if found and program_version(Path(found)) else cached_kubectl()
        return self._kubectl

    def start(self) -> None:
        for name in self.kubeconfig.split(os.pathsep):
            if name and not Path(name).is_file():
                raise Failure(f"KUBECONFIG names a missing file: {name}")
        command = [str(self.kubectl), "version", "-o", "json", f"--request-timeout={ANSWER_S}s"]
        env = {**os.environ, "KUBECONFIG": self.kubeconfig}
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=ANSWER_S * 2, check=False, env=env)
        except subprocess.TimeoutExpired:
            raise Failure(f"the cluster of KUBECONFIG={self.kubeconfig} does not answer") from None
        if done.returncode != 0:
            reason = (done.stderr.strip().splitlines() or ["kubectl says nothing"])[-1]
            raise Failure(f"the cluster of KUBECONFIG={self.kubeconfig} cannot be reached: {reason}")
        version = json.loads(done.stdout)["serverVersion"]
        found = (int(version["major"]), int(version["minor"].rstrip("+")))
        if found < OLDEST_KUBERNETES:
            raise Failure(
                f"the cluster runs Kubernetes {found[0]}.{found[1]}; "
                f"{OLDEST_KUBERNETES[0]}.{OLDEST_KUBERNETES[1]} is the oldest that works"
            )

    def stop(self) -> None:
        """Do nothing: the cluster is not ours."""

    def revive(self) -> list[str]:
        return []

    def pids(self) -> dict[str, int]:
        return {}

    def logs(self) -> dict[str, str]:
        return {}
