"""What the chart makes at random where it can ask no cluster must never take the place of what is in use."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import redis
from tests.chart.render.conftest import Object, rendered
from tests.waiting import eventually_sync

from checklist_dev.failures import Failure
from checklist_dev.local.kubectl import Kubectl
from checklist_dev.system.ports import free_ports

NEVER_PRUNED = {
    "helm.sh/resource-policy": "keep",
    "argocd.argoproj.io/sync-options": "Prune=false,Delete=false",
    "kustomize.toolkit.fluxcd.io/prune": "disabled",
}


@pytest.mark.parametrize("name", ["keys", "redis"])
def test_a_second_rendering_does_not_replace_secrets(kubectl: Kubectl, namespace: str, name: str) -> None:
    def body() -> Object:
        objects = rendered({"redis": {"builtIn": {"enabled": True}}}, "--namespace", namespace)
        return next(one for one in objects if one["kind"] == "Secret" and one["metadata"]["name"].endswith(name))

    def now() -> Any:
        found = kubectl("get", "secret", f"rel-checklist-dispatch-{name}", "-n", namespace, "-o", "json")
        return json.loads(found)["data"]

    first, second = body(), body()
    assert first["data"] != second["data"]
    kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(first))
    for side in ((), ("--server-side",), ("--server-side", "--force-conflicts", "--field-manager=argocd-controller")):
        with pytest.raises(Failure, match="immutable"):
            kubectl("apply", *side, "-f", "-", stdin=json.dumps(second))
    assert now() == first["data"]


def test_no_tool_that_prunes_takes_keys_photos_or_definitions() -> None:
    objects = rendered({}, definitions=True)
    kept = [body for body in objects if "helm.sh/resource-policy" in body["metadata"].get("annotations", {})]
    assert {body["kind"] for body in kept} == {
        "ConfigMap",
        "Secret",
        "PersistentVolumeClaim",
        "CustomResourceDefinition",
    }
    for body in kept:
        assert NEVER_PRUNED.items() <= body["metadata"]["annotations"].items()


def test_with_secrets_of_yours_two_renderings_are_the_same() -> None:
    """So Argo CD sees no difference that is none."""
    values = {
        "secrets": {"existingSecret": "keys"},
        "redis": {"builtIn": {"enabled": True}, "password": {"existingSecret": "redis"}},
        "bootstrap": {"organization": "Acme", "admin": "ada@example.com"},
    }
    assert rendered(values) == rendered(values)


def test_the_built_in_redis_takes_its_password_from_a_file(tmp_path: Path) -> None:
    """The containers run one after the other, as the kubelet starts them; only folders and port are others."""
    objects = rendered({"redis": {"builtIn": {"enabled": True}}})
    deployment = next(
        body for body in objects if body["kind"] == "Deployment" and body["metadata"]["name"].endswith("-redis")
    )
    spec = deployment["spec"]["template"]["spec"]
    (init,), (container,) = spec["initContainers"], spec["containers"]
    (port,) = free_ports(1)
    password = 'a "password" \\ with signs'
    (tmp_path / "password").write_text(f"{password}\n")
    folders = {mount["mountPath"]: str(tmp_path) for mount in (*init["volumeMounts"], *container["volumeMounts"])}

    def words(of: dict[str, Any]) -> list[str]:
        text = json.dumps([*of["command"], *of["args"]]).replace("6379", str(port))
        for folder in sorted(folders.keys() - {"/tmp"}):
            text = text.replace(folder, folders[folder])
        return list(json.loads(text))

    subprocess.run(words(init), check=True)
    server = subprocess.Popen(words(container), stdout=subprocess.DEVNULL)
    try:
        client = redis.Redis(port=port, password=password)

        def answers() -> bool:
            try:
                return bool(client.ping())
            except redis.exceptions.ConnectionError:
                return False

        eventually_sync(answers)
        config = {name: client.config_get(name)[name] for name in ("save", "appendonly", "maxmemory-policy", "dir")}
        assert config == {"save": "", "appendonly": "no", "maxmemory-policy": "noeviction", "dir": "/tmp"}
        with pytest.raises(redis.exceptions.AuthenticationError):
            redis.Redis(port=port).ping()
        assert "env" not in container and password not in Path(f"/proc/{server.pid}/cmdline").read_text()
    finally:
        server.kill()
        server.wait()
