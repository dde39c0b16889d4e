"""What API and operator asked of the API server, as its own audit log has it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

POLICY: Final = """\
apiVersion: audit.k8s.io/v1
kind: Policy
# A watch is told when it begins; of everything else its end is enough.
omitStages: [RequestReceived]
rules:
  - level: Metadata
    userGroups: ["system:serviceaccounts"]
"""
ALONE: Final = ("default",)
"""Namespaces for which there are roles of their own, that give other rights than those of organizations do."""


@dataclass(frozen=True, slots=True, order=True)
class Right:
    """One verb on one resource (`runs/status` for a subresource), of one ServiceAccount by the name of its program."""

    account: str
    group: str
    resource: str
    verb: str
    within: str = ""
    """The namespace, of a right that a role for that one alone gives; empty: the installation's and organizations'."""

    def __str__(self) -> str:
        where = f" in {self.within}" if self.within else ""
        return f"{self.account}: {self.verb} {self.resource}" + (f".{self.group}" if self.group else "") + where


@dataclass(frozen=True, slots=True)
class Access:
    """A request for a resource, and whether authorization let it pass."""

    right: Right
    namespace: str
    name: str
    allowed: bool


class AuditLog:
    """The log that kube-apiserver appends to; it is read as far as it is complete."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @staticmethod
    def options(policy: Path, log: Path) -> list[str]:
        """For kube-apiserver."""
        policy.write_text(POLICY)
        return [f"--audit-policy-file={policy}", f"--audit-log-path={log}", "--audit-log-mode=blocking"]

    def mark(self) -> int:
        """To read from here later."""
        return self._path.stat().st_size if self._path.exists() else 0

    def since(self, mark: int) -> Iterator[Access]:
        """Requests for resources by ServiceAccounts. (Discovery and versions are open to whoever signs in.)"""
        if self._path.exists():
            with self._path.open("rb") as file:
                file.seek(mark)
                lines = file.readlines()
            found = (_access(json.loads(line)) for line in lines if line.endswith(b"\n"))
            yield from (access for access in found if access is not None)


def _access(event: dict[str, Any]) -> Access | None:
    what = event.get("objectRef") or {}
    decision = (event.get("annotations") or {}).get("authorization.k8s.io/decision")
    if not what.get("resource") or decision is None:
        return None
    namespace = what.get("namespace", "")
    account = event["user"]["username"].rpartition(":")[2].rpartition("-")[2]
    resource = what["resource"] + (f"/{what['subresource']}" if what.get("subresource") else "")
    within = namespace if namespace in ALONE else ""
    right = Right(account, what.get("apiGroup", ""), resource, event["verb"], within)
    return Access(right, namespace, what.get("name", ""), decision == "allow")
