"""What the chart's roles say that an account may do, and what it requests of the API server, by the audit log."""

import json
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Final

import httpx
from tests.chart.install.installed import RELEASE, Installation

POLICY: Final = """\
apiVersion: audit.k8s.io/v1
kind: Policy
# A watch is logged when it begins; of all other requests the end is enough.
omitStages: [RequestReceived]
rules:
  - level: Metadata
    userGroups: ["system:serviceaccounts"]
"""
_OF_A_POLICY: Final = "runs/resolved"
"""No request has this name: the admission policy looks for the right."""
ALONE: Final = ("default",)
"""Namespaces for which there are roles of their own, that give other rights than those of organizations do."""

Object = dict[str, Any]


@dataclass(frozen=True, slots=True, order=True)
class Right:
    """One verb on one resource (`runs/status` for a subresource), of one ServiceAccount by the name of its program."""

    account: str
    group: str
    resource: str
    verb: str
    within: str = ""
    """The namespace, of a right that a role for that one alone gives; empty: the installation's and organizations'."""


@dataclass(frozen=True, slots=True)
class Access:
    """A request for a resource, and whether authorization let it pass."""

    right: Right
    namespace: str
    name: str
    allowed: bool


@dataclass(frozen=True, slots=True)
class Audited:
    """A release whose API server keeps an audit log. `account` is `api`, `operator`, `bootstrap`, `backup` or
    `maintenance` everywhere."""

    installation: Installation
    objects: list[Object]
    log: Path

    def http(self, *, account: str | None = None, user: str | None = None) -> httpx.Client:
        """The Kubernetes API: as the account, else as the administrator, who may act as `user`."""
        cluster = self.installation.cluster
        token = self.installation.token(f"{RELEASE}-{account}") if account else cluster.token
        headers = {"Authorization": f"Bearer {token}"} | ({"Impersonate-User": user} if user else {})
        authority = ssl.create_default_context(cafile=str(cluster.credentials.authority))
        return httpx.Client(base_url=cluster.server, verify=authority, headers=headers, trust_env=False, timeout=30)

    def rules(self, account: str) -> Iterator[tuple[Object, Object]]:
        """Each role that is bound to the account, with each of its rules."""
        roles = {_place(one["kind"], one["metadata"]): one for one in self.objects}
        for binding in self.objects:
            if f"{RELEASE}-{account}" in [one["name"] for one in binding.get("subjects", ())]:
                bound = binding["roleRef"]
                role = roles[_place(bound["kind"], {**binding["metadata"], "name": bound["name"]})]
                for rule in role["rules"]:
                    yield role, rule

    def rights(self, account: str) -> set[Right]:
        return {
            Right(account, group, resource, verb, _within(role["metadata"].get("namespace", "")))
            for role, rule in self.rules(account)
            for group, resource, verb in product(rule["apiGroups"], rule["resources"], rule["verbs"])
            if resource != _OF_A_POLICY
        }

    def accesses(self) -> set[Access]:
        """Requests for resources by ServiceAccounts. (Discovery and versions are open to all who sign in.)"""
        lines = self.log.read_bytes().splitlines(keepends=True)
        found = (_access(json.loads(line)) for line in lines if line.endswith(b"\n"))
        return {access for access in found if access is not None}


def _place(kind: str, metadata: Object) -> tuple[str, str, str]:
    return kind, metadata["name"], "" if kind == "ClusterRole" else metadata.get("namespace", "")


def _within(namespace: str) -> str:
    return namespace if namespace in ALONE else ""


def _access(event: Object) -> Access | None:
    what = event.get("objectRef") or {}
    decision = (event.get("annotations") or {}).get("authorization.k8s.io/decision")
    if not what.get("resource") or decision is None:
        return None
    namespace = what.get("namespace", "")
    account = event["user"]["username"].rpartition("-")[2]
    resource = what["resource"] + (f"/{what['subresource']}" if what.get("subresource") else "")
    right = Right(account, what.get("apiGroup", ""), resource, event["verb"], _within(namespace))
    return Access(right, namespace, what.get("name", ""), decision == "allow")
