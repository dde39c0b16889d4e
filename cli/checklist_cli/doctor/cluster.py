"""Checks the installation in the cluster: definitions, clock, leader, programs, rights."""

from collections.abc import AsyncIterator, Iterator
from typing import Final

from checklist_crds.crd.definition import CRD_VERSION, CRD_VERSION_ANNOTATION
from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeError, KubeNotFound
from checklist_crds.resources.base import GROUP, VERSION
from checklist_crds.resources.kinds import ALL_KINDS, CUSTOM_RESOURCE_DEFINITION, LEASE, Kind
from checklist_crds.times import Clock, parse_timestamp
from checklist_crds.values.json_text import JsonObject

from ..backup.guard import is_held
from .finding import Finding, Level, ok, spoken, unknown

ACCOUNTS: Final = ("api", "operator")
"""Component names of the chart."""
_API: Final = {
    "runs": "create get list watch",
    "runs/status": "patch",
    "templates": "create get list watch update delete",
    "templaterevisions": "create get",
    "organizations": "get list watch",
    "organizations/status": "patch",
    "apikeys": "get list watch",
    "members": "get list watch",
    "webhookdeliveries": "get list watch",
}
_OPERATOR: Final = {
    "runs": "get list watch delete",
    "runs/status": "patch",
    "templates": "get list watch",
    "templaterevisions": "create get list delete",
    "organizations": "get list watch",
    "webhookdeliveries": "create get list watch delete",
    "webhookdeliveries/status": "patch",
}


def needed(component: str) -> Iterator[tuple[str, str, str]]:
    """The essential rights, as (API group, resource or resource/subresource, verb): a subset of the chart's rules,
    which a test verifies."""
    for resource, verbs in (_API if component == "api" else _OPERATOR).items():
        for verb in verbs.split():
            yield GROUP, resource, verb
    if component == "operator":
        for verb in ("create", "get", "update"):
            yield "coordination.k8s.io", "leases", verb


_DEPLOYMENT: Final = Kind("apps", "v1", "deployments", "Deployment")
_REVIEW: Final = Kind("authorization.k8s.io", "v1", "localsubjectaccessreviews", "LocalSubjectAccessReview")
_OPERATORS_LEASE: Final = "checklist-dispatch-operator"
_OURS: Final = "app.kubernetes.io/part-of=checklist-dispatch"
"""Selects the chart's objects by label, since their names vary."""
_COMPONENT: Final = "app.kubernetes.io/component"
_SKEW_REPORTED_S: Final = 2.0
_SKEW_HARMFUL_S: Final = 30.0
_UPGRADE: Final = "helm upgrade the release (docs/install.md), or kubectl apply the definitions in crds/"


async def definitions(client: KubeClient) -> AsyncIterator[Finding]:
    """Check that all kinds are served in this program's version, and stored in one version only."""
    wrong = False
    for kind in ALL_KINDS:
        name = f"{kind.plural}.{kind.group}"
        try:
            body = await client.get(CUSTOM_RESOURCE_DEFINITION, name)
        except KubeNotFound:
            wrong = True
            yield Finding("definitions", Level.CRITICAL, f"{name} is not installed", _UPGRADE)
            continue
        except KubeError as error:
            yield unknown("definitions", f"cannot be read: {error.message}", "run it with the right to get them")
            return
        for finding in _definition(name, body):
            wrong = True
            yield finding
    if not wrong:
        yield ok("definitions", f"{len(ALL_KINDS)} kinds, version {CRD_VERSION}, stored as {VERSION}")


def _definition(name: str, body: JsonObject) -> list[Finding]:
    found = []
    status = body.get("status") or {}
    conditions = {each["type"]: each["status"] for each in status.get("conditions") or ()}
    if conditions.get("Established") != "True":
        found.append(
            Finding("definitions", Level.CRITICAL, f"{name} is not served", f"see kubectl describe crd {name}")
        )
    text = (body["metadata"].get("annotations") or {}).get(CRD_VERSION_ANNOTATION, "")
    version = int(text) if text.isdecimal() else 0
    if version < CRD_VERSION:
        found.append(
            Finding("definitions", Level.CRITICAL, f"{name} has version {version}, {CRD_VERSION} is needed", _UPGRADE)
        )
    elif version > CRD_VERSION:
        found.append(
            Finding(
                "definitions",
                Level.WARNING,
                f"{name} has version {version}, newer than this program's {CRD_VERSION}",
                "run the doctor of the installed release",
            )
        )
    stored = status.get("storedVersions") or []
    if len(stored) > 1:
        found.append(
            Finding(
                "definitions",
                Level.WARNING,
                f"objects of {name} may be stored as {', '.join(stored)}",
                "before an old version is removed, write all objects once and drop it from status.storedVersions",
            )
        )
    return found


async def clock(client: KubeClient, now: Clock) -> AsyncIterator[Finding]:
    """Compare this machine's clock with the API server's, which reports whole seconds."""
    before = now()
    server = await client.server_time()
    if server is None:
        yield unknown("clock", "the API server reports no time")
        return
    local = before + (now() - before) / 2
    # The server's time is truncated to a whole second.
    behind = (server - local).total_seconds()
    skew = max(0.0, behind, -behind - 1.0)
    text = f"{skew:.0f} s from the API server's" if skew >= 1 else "as the API server's, to the second"
    if skew < _SKEW_REPORTED_S:
        yield ok("clock", text)
        return
    level = Level.CRITICAL if skew >= _SKEW_HARMFUL_S else Level.WARNING
    yield Finding("clock", level, text, "set this machine's clock by NTP: expiry, retries and signatures depend on it")


async def leaders(client: KubeClient, namespace: str, now: Clock) -> AsyncIterator[Finding]:
    """Check that an operator leads with a fresh lease."""
    try:
        leases, _ = await client.list_all(LEASE, namespace)
    except KubeError as error:
        yield unknown("leader", f"leases cannot be read: {error.message}", "run it with the right to list them")
        return
    lease = next((lease for lease in leases if lease["metadata"]["name"] == _OPERATORS_LEASE), None)
    if lease is None:
        yield Finding(
            "leader",
            Level.CRITICAL,
            f"no operator has ever worked in the namespace {namespace}",
            "check --namespace, and with kubectl get pods whether an operator runs",
        )
    elif is_held(lease, now()):
        spec = lease["spec"]
        age = max(0.0, (now() - parse_timestamp(spec["renewTime"])).total_seconds())
        yield ok("leader", f"{spec['holderIdentity']} holds {_OPERATORS_LEASE}, renewed {spoken(age)} ago")
        if (parse_timestamp(spec["renewTime"]) - now()).total_seconds() > _SKEW_REPORTED_S:
            text = f"{_OPERATORS_LEASE} was renewed in the future"
            yield Finding("leader", Level.WARNING, text, "compare the clocks of the nodes")
    else:
        yield Finding(
            "leader",
            Level.CRITICAL,
            f"no operator holds {_OPERATORS_LEASE}: events are not sent, expiry is not recorded",
            "see kubectl get pods and the operator's log; a standby takes over within 20 s",
        )


async def programs(client: KubeClient, namespace: str) -> AsyncIterator[Finding]:
    """Check that the chart's Deployments have all their pods."""
    try:
        found, _ = await client.list_all(_DEPLOYMENT, namespace, label_selector=_OURS)
    except KubeError as error:
        yield unknown("pods", f"deployments cannot be read: {error.message}", "run it with the right to list them")
        return
    if not found:
        yield unknown("pods", f"the namespace {namespace} has no Deployment of the chart")
    for body in found:
        name, status = body["metadata"]["name"], body.get("status") or {}
        wanted, available = int(body["spec"].get("replicas", 1)), int(status.get("availableReplicas") or 0)
        if available >= wanted:
            yield ok("pods", f"{name}: {available} of {wanted} available")
        else:
            yield Finding(
                "pods",
                Level.CRITICAL if available == 0 else Level.WARNING,
                f"{name}: {available} of {wanted} available",
                f"kubectl -n {namespace} describe deployment {name}, and the log of its pods",
            )


async def api_pods(client: KubeClient, namespace: str) -> int | None:
    """The number of desired API pods; None if it cannot be read."""
    try:
        found, _ = await client.list_all(_DEPLOYMENT, namespace, label_selector=_OURS)
    except KubeError:
        return None
    wanted = [
        int(body["spec"].get("replicas", 1))
        for body in found
        if (body["metadata"].get("labels") or {}).get(_COMPONENT) == "api"
    ]
    return sum(wanted) if wanted else None


async def rights(client: KubeClient, namespace: str) -> AsyncIterator[Finding]:
    """Check the rights of the chart's service accounts with the API server."""
    try:
        found, _ = await client.list_all(_DEPLOYMENT, namespace, label_selector=_OURS)
    except KubeError as error:
        yield unknown("rights", f"deployments cannot be read: {error.message}")
        return
    accounts = {
        str(body["metadata"].get("labels", {}).get(_COMPONENT)): str(
            body["spec"]["template"]["spec"].get("serviceAccountName") or "default"
        )
        for body in found
    }
    for component in ACCOUNTS:
        if component not in accounts:
            yield unknown("rights", f"no Deployment of the chart runs the {component}")
            continue
        user = f"system:serviceaccount:{namespace}:{accounts[component]}"
        try:
            missing = [right for right in needed(component) if not await _may(client, user, namespace, right)]
        except KubeError as error:
            yield unknown("rights", f"cannot be checked: {error.message}", "run it as an administrator of the cluster")
            return
        if missing:
            rights_missing = ", ".join(f"{verb} {resource}" for _, resource, verb in missing)
            yield Finding(
                "rights",
                Level.CRITICAL,
                f"{accounts[component]} ({component}) may not: {rights_missing}",
                "helm upgrade restores the roles of the chart; with rbac.create=false compare with docs/security.md",
            )
        else:
            yield ok("rights", f"{accounts[component]} ({component}) has the rights it needs")


async def _may(client: KubeClient, user: str, namespace: str, right: tuple[str, str, str]) -> bool:
    group, resource, verb = right
    resource, _, subresource = resource.partition("/")
    # Cluster-scoped resources are checked in this namespace, too: a cluster-wide right includes it.
    attributes = {"group": group, "resource": resource, "subresource": subresource, "verb": verb}
    attributes["namespace"] = namespace
    if resource == "leases" and verb != "create":
        attributes["name"] = _OPERATORS_LEASE  # the role is limited to leases by name
    spec = {
        "user": user,
        "groups": ["system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"],
        "resourceAttributes": attributes,
    }
    metadata = {"namespace": namespace}
    body = {"apiVersion": _REVIEW.api_version, "kind": _REVIEW.kind, "metadata": metadata, "spec": spec}
    answer = await client.create(_REVIEW, body, namespace)
    return bool((answer.get("status") or {}).get("allowed"))
