"""What Helm installs where nothing starts pods: its programs are run here, from the pods as the cluster has them, with
the tokens of their ServiceAccounts and the files of their Secrets."""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from checklist_dev.local.controlplane import ControlPlane
from checklist_dev.local.local_service import is_ready
from checklist_dev.programs.go_tools import HELM, find_tool
from checklist_dev.system.ports import free_ports
from checklist_dev.system.processes import Child

READY_S = 90.0
RELEASE = "checklists"
CRON_JOB, DEPLOYMENT = "cronjob", "deployment"


class Installation:
    """A release in a namespace. `helm` raises CalledProcessError with Helm's words in `stderr`."""

    def __init__(self, cluster: ControlPlane, folder: Path, release: str = RELEASE, namespace: str = "") -> None:
        self.cluster = cluster
        self.folder = folder
        self.release = release
        self.namespace = namespace or release
        self.kubectl = cluster.run_kubectl
        self.kubectl("create", "namespace", self.namespace)
        self.port, self.operator_port = free_ports(2)
        self.url = f"http://127.0.0.1:{self.port}"
        self._children: dict[str, Child] = {}

    def helm(self, command: str, *arguments: str | Path, values: dict[str, Any] | None = None) -> str:
        words = [find_tool(HELM), command, "--namespace", self.namespace, *arguments]
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
        return json.loads(self.kubectl("get", "-n", self.namespace, *what, "-o", "json"))

    def secret(self, name: str) -> dict[str, str]:
        return {key: base64.b64decode(text).decode() for key, text in self.get("secret", name)["data"].items()}

    def objects(self) -> list[dict[str, Any]]:
        """All that the chart has made, and what its hooks are."""
        made = (self.helm("get", part, self.release) for part in ("manifest", "hooks"))
        return [one for text in made for one in yaml.safe_load_all(text) if one]

    def start(self) -> None:
        """API and operators, until they are ready."""
        operators = [
            body["metadata"]["name"]
            for body in self.get("deployments", "-l", "app.kubernetes.io/component=operator")["items"]
        ]
        ports = [self.operator_port, *free_ports(len(operators) - 1)]
        for name, port in [*zip(operators, ports, strict=True), (f"{self.release}-api", self.port)]:
            spec = self._pod(name.removeprefix(f"{self.release}-"))
            container = spec["containers"][0]
            environment = self._environment(spec, container)
            if name in operators:
                environment |= {"CHECKLISTS_OPERATOR_PORT": str(port), "CHECKLISTS_OPERATOR_ID": name}
            command = _program(container["command"] + container.get("args", []))
            child = Child(name, command, log=self.folder / f"{name}.log", env=environment)
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
        """The end of what each operator has written, for an error message."""
        logs = self.folder.glob(f"{self.release}-operator*.log")
        return "\n".join(f"{log.name}:\n{log.read_text()[-4000:]}" for log in sorted(logs))

    def run_job(self) -> str:
        """The first-organization Job of the release, as the Job's own ServiceAccount; what it prints."""
        hooks = self.helm("get", "hooks", self.release)
        self.kubectl("apply", "-f", "-", stdin=hooks)
        return self._run(self.get("job", f"{self.release}-bootstrap")["spec"]["template"]["spec"])

    def run_backup(self) -> str:
        """What the CronJob's pod does, one container after the other."""
        return self._run(self._pod("backup", CRON_JOB))

    def exec(self, *command: str, component: str = "api", status: int = 0) -> str:
        """As `kubectl exec deploy/...-api -- COMMAND`."""
        spec = self._pod(component)
        return self._run({**spec, "containers": [{**spec["containers"][0], "command": list(command)}]}, status)

    def _pod(self, component: str, kind: str = DEPLOYMENT) -> dict[str, Any]:
        spec = self.get(kind, f"{self.release}-{component}")["spec"]
        template = spec["jobTemplate"]["spec"]["template"] if kind == CRON_JOB else spec["template"]
        return dict(template["spec"])

    def _run(self, spec: dict[str, Any], status: int = 0) -> str:
        """The pod's containers, to their end; what they print."""
        printed = ""
        for container in [*spec.get("initContainers", []), *spec["containers"]]:
            mounts = self._files(spec, container)
            words = [_here(word, mounts) for word in container["command"] + container.get("args", [])]
            environment = self._environment(spec, container)
            done = subprocess.run(_program(words), env=environment, capture_output=True, text=True, check=False)
            assert done.returncode == status, done.stdout + done.stderr
            printed += done.stdout + done.stderr
        return printed

    def _environment(self, spec: dict[str, Any], container: dict[str, Any]) -> dict[str, str]:
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
                found[variable["name"]] = _here(variable.get("value", ""), mounts)
        return {
            **{name: os.environ[name] for name in ("PATH", "HOME", "PYTHONPATH") if name in os.environ},
            **found,
            "CHECKLISTS_HOST": "127.0.0.1",
            "CHECKLISTS_PORT": str(self.port),
            "CHECKLISTS_OPERATOR_PORT": str(self.operator_port),
            "CHECKLISTS_BASE_URL": self.url,
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

    def token(self, account: str) -> str:
        return self.kubectl("create", "token", account, "-n", self.namespace, "--duration=2h").strip()

    def _kubeconfig(self, account: str) -> Path:
        """With a token of the ServiceAccount, and nothing else."""
        config = json.loads(self.cluster.kubeconfig.read_text())
        config["users"][0]["user"] = {"token": self.token(account)}
        file = self.folder / f"kubeconfig-{account}"
        file.write_text(json.dumps(config))
        return file


def _here(text: str, mounts: dict[str, Path]) -> str:
    """With folders of this machine in place of what is mounted."""
    for mounted, here in mounts.items():
        text = text.replace(mounted, str(here))
    return text


def _program(command: list[str]) -> list[str]:
    """The command of the image, as it is installed here."""
    return [str(Path(sys.executable).with_name(command[0])), *command[1:]]
