"""The chart's own RBAC objects, as helm renders them, in a real cluster: accounts, tokens, and rights taken away."""

import json
import ssl
import subprocess
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any, Final

import httpx
import yaml
from tests.chart_rbac.audit_log import ALONE, Right
from tests.waiting import eventually

from checklist_dev.chart_tools import HELM, find_tool
from checklist_dev.controlplane import ControlPlane
from checklist_dev.repository import ROOT

CHART: Final = ROOT / "charts" / "checklist-dispatch"
RELEASE: Final = "checklist-dispatch"
HOME: Final = "dispatch"
"""The release's namespace."""
BRANCH: Final = "branch"
"""Of an organization that keeps its objects in a namespace of its own."""
ANNEX: Final = "annex"
"""Of another one."""
ELSEWHERE: Final = "elsewhere"
"""A namespace that the release was not told of."""
LEASE_NAME: Final = "checklist-dispatch-operator"
KEYS: Final = f"{RELEASE}-keys"
WEBHOOK_SECRETS: Final = {HOME: "hook", BRANCH: "branch-hook"}
RESYNC_S: Final = 15
VALUES: Final[Mapping[str, Any]] = {
    "image": {"repository": "localhost/checklist-dispatch"},
    "clusterRanges": [],
    "secrets": {"existingSecret": KEYS},
    # Each process is given a folder in its place. (With photos that go with their pod nothing would be archived.)
    "photos": {"persistentVolume": {"existingClaim": "photos"}},
    "organizationNamespaces": [{"name": BRANCH, "webhookSecrets": [WEBHOOK_SECRETS[BRANCH]]}, {"name": ANNEX}],
    "webhookSecrets": [WEBHOOK_SECRETS[HOME]],
    "bootstrap": {"organization": "First", "admin": "first@example.com"},
    "backup": {"existingClaim": "backups"},
    "maintenance": {"enabled": True},
    # What takes minutes or hours otherwise.
    "settings": {
        "allowInsecureTargets": True,
        "retryGaps": "0.2,0.2,0.2,0.2",
        "retryJitter": 0,
        "sweepSeconds": 0.5,
        "revisionGraceSeconds": 0.5,
        "photoSweepSeconds": 0.5,
        "photoOrphanSeconds": 0,
        # Longer than any scene: what a watch does not tell is not found by looking again.
        "resyncSeconds": RESYNC_S,
    },
}
_RBAC: Final = ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")

Object = dict[str, Any]


def rendered(folder: Path) -> list[Object]:
    """All objects of the chart."""
    file = folder / "values.json"
    file.write_text(json.dumps(VALUES))
    command: list[str | Path] = [find_tool(HELM), "template", RELEASE, CHART, "--namespace", HOME, "--values", file]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [one for one in yaml.safe_load_all(done.stdout) if one]


class Release:
    """The RBAC of the chart, applied. `account` is `api`, `operator`, `bootstrap`, `backup` or
    `maintenance` everywhere."""

    def __init__(self, cluster: ControlPlane, folder: Path) -> None:
        self.cluster = cluster
        self.folder = folder
        self.objects = rendered(folder)
        self.rbac = [one for one in self.objects if one["kind"] in _RBAC]

    def install(self) -> None:
        for name in (HOME, BRANCH, ANNEX, ELSEWHERE):
            self.cluster.run_kubectl("create", "namespace", name)
        self.apply(self.rbac)

    def apply(self, objects: list[Object]) -> None:
        listed = {"apiVersion": "v1", "kind": "List", "items": objects}
        self.cluster.run_kubectl("apply", "-f", "-", stdin=json.dumps(listed))

    def http(self, *, token: str | None = None, user: str | None = None) -> httpx.Client:
        """The Kubernetes API: as whoever the token is of, else as the administrator, who may act as `user`."""
        headers = {"Authorization": f"Bearer {token or self.cluster.token}"}
        if user is not None:
            headers["Impersonate-User"] = user
        authority = ssl.create_default_context(cafile=str(self.cluster.credentials.authority))
        return httpx.Client(
            base_url=self.cluster.server, verify=authority, headers=headers, trust_env=False, timeout=30
        )

    def token(self, account: str) -> str:
        return self.cluster.run_kubectl(
            "create", "token", f"{RELEASE}-{account}", "--namespace", HOME, "--duration", "2h"
        ).strip()

    def user(self, account: str) -> str:
        return f"system:serviceaccount:{HOME}:{RELEASE}-{account}"

    def kubeconfig(self, account: str) -> Path:
        """As the pod of that account reaches the cluster: with a token of it and nothing else."""
        config = json.loads(self.cluster.kubeconfig.read_text())
        config["users"] = [{"name": "admin", "user": {"token": self.token(account)}}]
        path = self.folder / f"{account}.kubeconfig"
        path.write_text(json.dumps(config))
        return path

    def environment(self, account: str) -> dict[str, str]:
        """What the Deployment tells its container."""
        deployment = self._find("Deployment", f"{RELEASE}-{account}")
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        return {one["name"]: one["value"] for one in container["env"] if "value" in one}

    def bootstrap_command(self) -> list[str]:
        """Arguments of the Job's program."""
        (container,) = self._find("Job", f"{RELEASE}-bootstrap")["spec"]["template"]["spec"]["containers"]
        return [str(one) for one in (*container["command"][1:], *container["args"])]

    def rules(self, account: str) -> Iterator[tuple[Object, Object]]:
        """Each role that is bound to the account, with each of its rules."""
        for binding in self.rbac:
            subjects = [one["name"] for one in binding.get("subjects", ())]
            if binding["kind"].endswith("Binding") and f"{RELEASE}-{account}" in subjects:
                role = self._find(
                    binding["roleRef"]["kind"], binding["roleRef"]["name"], binding["metadata"].get("namespace")
                )
                for rule in role["rules"]:
                    yield role, rule

    def rights(self, account: str) -> set[Right]:
        return {
            Right(account, group, resource, verb, _within(role))
            for role, rule in self.rules(account)
            for group, resource, verb in product(rule["apiGroups"], rule["resources"], rule["verbs"])
        }

    def take_away(self, right: Right) -> None:
        """That one verb on that one resource goes out of every role of the account."""
        left = []
        for role in self._roles_with(right):
            rules = [one for rule in role["rules"] for one in _rule_without(rule, right)]
            left.append({**role, "rules": rules})
        assert left, right
        self._replace(left)

    def give_back(self, right: Right) -> None:
        self._replace(self._roles_with(right))

    def _replace(self, roles: list[Object]) -> None:
        with self.http() as http:
            for role in roles:
                within = f"/namespaces/{role['metadata']['namespace']}" if role["kind"] == "Role" else ""
                path = f"/apis/{role['apiVersion']}{within}/{role['kind'].lower()}s/{role['metadata']['name']}"
                response = http.put(path, json=role)
                assert response.status_code == 200, response.text

    def _roles_with(self, right: Right) -> list[Object]:
        roles = {id(role): role for role, _ in self.rules(right.account) if _within(role) == right.within}.values()
        return [role for role in roles if any(list(_rule_without(rule, right)) != [rule] for rule in role["rules"])]

    def _find(self, kind: str, name: str, namespace: str | None = None) -> Object:
        """`namespace`: of any when it is not given, and of objects that have none."""
        found = (one for one in self.objects if (one["kind"], one["metadata"]["name"]) == (kind, name))
        return next(one for one in found if namespace in (None, one["metadata"].get("namespace", namespace)))


def _within(role: Object) -> str:
    namespace = str(role["metadata"].get("namespace", ""))
    return namespace if namespace in ALONE else ""


def _rule_without(rule: Object, right: Right) -> Iterator[Object]:
    if right.group not in rule["apiGroups"] or right.resource not in rule["resources"]:
        yield rule
        return
    others = [one for one in rule["resources"] if one != right.resource]
    verbs = [one for one in rule["verbs"] if one != right.verb]
    if verbs == rule["verbs"]:
        yield rule
        return
    if others:
        yield {**rule, "resources": others}
    if verbs:
        yield {**rule, "resources": [right.resource], "verbs": verbs}


async def until_decided(release: Release, right: Right, *, allowed: bool) -> None:
    """The API server's authorizer learns of roles by a watch: it takes a moment."""
    resource, _, subresource = right.resource.partition("/")
    attributes = {"verb": right.verb, "group": right.group, "resource": resource}
    attributes |= {"subresource": subresource} if subresource else {}
    if resource == "customresourcedefinitions":
        attributes["name"] = "runs.checklists.dev"
    elif resource not in ("organizations", "namespaces"):
        attributes["namespace"] = right.within or HOME
    if right.resource in ("leases", "secrets") and right.verb not in ("create", "list"):
        attributes["name"] = WEBHOOK_SECRETS[HOME] if right.resource == "secrets" else LEASE_NAME
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": release.user(right.account), "resourceAttributes": attributes},
    }
    with release.http() as http:

        def decided() -> bool:
            answer = http.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", json=review).json()
            return bool(answer["status"]["allowed"] is allowed)

        await eventually(decided)
