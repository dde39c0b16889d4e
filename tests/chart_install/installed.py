"""What Helm installs where nothing starts pods: its API and operator are run here, from the Deployments as the cluster
has them, with the tokens of their ServiceAccounts and the files of their Secrets."""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from checklist_dev.chart_tools import HELM, find_tool
from checklist_dev.controlplane import ControlPlane
from checklist_dev.local_service import is_ready
from checklist_dev.ports import free_ports
from checklist_dev.processes import Child

READY_S = 90.0


class Installation:
    """A release in a namespace of its name. `helm` raises CalledProcessError with Helm's words in `stderr`."""

    def __init__(self, cluster: ControlPlane, release: str, folder: Path) -> None:
        self.cluster = cluster
        self.release = release
        self.folder = folder
        self.kubectl = cluster.run_kubectl
        self.port, self.operator_port = free_ports(2)
        self._children: dict[str, Child] = {}

    def helm(self, command: str, *arguments: str | Path, values: dict[str, Any] | None = None) -> str:
        words = [find_tool(HELM), command, "--namespace", self.release, *arguments]
        words += ["--values", "-"] if values is not None else []
        done = subprocess.run(
            words,
            input=json.dumps(values) if values is not None else None,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "KUBECONFIG": str(self.cluster.kubeconfig)},
        )
        if done.returncode != 0:
            raise subprocess.CalledProcessError(done.returncode, words, done.stdout, done.stderr)
        return done.stdout

    def get(self, *what: str) -> Any:
        return json.loads(self.kubectl("get", "-n", self.release, *what, "-o", "json"))

    def secret(self, name: str) -> dict[str, str]:
        return {key: base64.b64decode(text).decode() for key, text in self.get("secret", name)["data"].items()}

    def start(self) -> None:
        """API and operators, until they are ready."""
        operators = [
            body["metadata"]["name"]
            for body in self.get("deployments", "-l", "app.kubernetes.io/component=operator")["items"]
        ]
        ports = [self.operator_port, *free_ports(len(operators) - 1)]
        for name, port in [*zip(operators, ports, strict=True), (f"{self.release}-api", self.port)]:
            spec = self.get("deployment", name)["spec"]["template"]["spec"]
            container = spec["containers"][0]
            environment = self.environment(spec, container)
            if name in operators:
                environment |= {"CHECKLISTS_OPERATOR_PORT": str(port), "CHECKLISTS_OPERATOR_ID": name}
            child = Child(
                name,
                program(container["command"] + container.get("args", [])),
                log=self.folder / f"{name.removeprefix(f'{self.release}-')}.log",
                env=environment,
            )
            child.start()
            self._children[name] = child
            child.wait_until(lambda port=port: is_ready(port), timeout_s=READY_S)

    def stop(self) -> None:
        while self._children:
            self._children.popitem()[1].stop()

    def restart(self) -> None:
        self.stop()
        self.start()

    def operator_log(self) -> str:
        return (self.folder / "operator.log").read_text()[-4000:]

    def run_job(self) -> str:
        """The first-organization Job of the release, as the Job's own ServiceAccount; what it prints."""
        hooks = self.helm("get", "hooks", self.release)
        self.kubectl("apply", "-f", "-", stdin=hooks)
        job = self.get("job", f"{self.release}-bootstrap")
        spec = job["spec"]["template"]["spec"]
        container = spec["containers"][0]
        return self.run(spec, container, container["command"] + container["args"])

    def exec(self, *command: str) -> str:
        """As `kubectl exec deploy/...-api -- COMMAND`."""
        spec = self.get("deployment", f"{self.release}-api")["spec"]["template"]["spec"]
        return self.run(spec, spec["containers"][0], list(command))

    def run(self, spec: dict[str, Any], container: dict[str, Any], command: list[str]) -> str:
        environment = self.environment(spec, container)
        done = subprocess.run(program(command), env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def environment(self, spec: dict[str, Any], container: dict[str, Any]) -> dict[str, str]:
        """The container's, its paths led to files here; the ports and the address are this machine's."""
        mounts = self._files(spec, container)
        found: dict[str, str] = {}
        for source in container.get("envFrom", []):
            found |= self.secret(source["secretRef"]["name"])
        for variable in container.get("env", []):
            source = variable.get("valueFrom", {})
            if "secretKeyRef" in source:
                reference = source["secretKeyRef"]
                found[variable["name"]] = self.secret(reference["name"])[reference["key"]]
            elif "fieldRef" in source:
                found[variable["name"]] = f"{self.release}-pod"
            else:
                text = variable.get("value", "")
                for mounted, here in mounts.items():
                    text = text.replace(mounted, str(here))
                found[variable["name"]] = text
        return {
            **{name: os.environ[name] for name in ("PATH", "HOME", "PYTHONPATH") if name in os.environ},
            **found,
            "CHECKLISTS_HOST": "127.0.0.1",
            "CHECKLISTS_PORT": str(self.port),
            "CHECKLISTS_OPERATOR_PORT": str(self.operator_port),
            "CHECKLISTS_BASE_URL": f"http://127.0.0.1:{self.port}",
            "KUBECONFIG": str(self._kubeconfig(spec["serviceAccountName"])),
        }

    def _files(self, spec: dict[str, Any], container: dict[str, Any]) -> dict[str, Path]:
        volumes = {volume["name"]: volume for volume in spec["volumes"]}
        mounts = {}
        for mount in container["volumeMounts"]:
            volume = volumes[mount["name"]]
            here = self.folder / "mounts" / mount["name"]
            here.mkdir(parents=True, exist_ok=True)
            if "secret" in volume:
                entries = self.secret(volume["secret"]["secretName"])
                for item in volume["secret"]["items"]:
                    (here / item["path"]).write_text(entries[item["key"]])
            if mount["mountPath"] != "/tmp":
                mounts[mount["mountPath"]] = here
        return mounts

    def _kubeconfig(self, account: str) -> Path:
        """With a token of the ServiceAccount, and nothing else."""
        token = self.kubectl("create", "token", account, "-n", self.release, "--duration=2h").strip()
        config = json.loads(self.cluster.kubeconfig.read_text())
        config["users"][0]["user"] = {"token": token}
        file = self.folder / f"kubeconfig-{account}"
        file.write_text(json.dumps(config))
        return file


def program(command: list[str]) -> list[str]:
    """The command of the image, as it is installed here."""
    return [str(Path(sys.executable).with_name(command[0])), *command[1:]]
