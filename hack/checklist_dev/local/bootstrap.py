"""Prepares a fresh cluster for the service: CRDs, namespace, server keys, an organization with a key.

The next start finds and reuses all of it.
"""

import base64
import binascii
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from checklist_crds.ids import new_id
from checklist_crds.resources.account import LocalAccountSpec
from checklist_crds.secrets import account_links, api_keys
from checklist_crds.secrets.digest import digest
from checklist_crds.times import utc_now
from checklist_dev.failures import Failure
from checklist_dev.local.crd_install import GROUP, install_crds
from checklist_dev.local.kubectl import Kubectl

NAMESPACE = "checklists"
SECRET = "checklist-dispatch-keys"  # noqa: S105 - the name of a Secret
ORGANIZATION_LABEL = f"{GROUP}/org"


@dataclass(frozen=True, slots=True)
class ServerKeys:
    """The server key as base64 of 32 bytes, and the sealing keys as `k1:<base64 of 32 bytes>`."""

    server_key: str
    sealing_keys: str


@dataclass(frozen=True, slots=True)
class Account:
    """An organization with one member and their key. `is_new`: the key was created now."""

    organization_id: str
    member_id: str
    api_key: str
    is_new: bool


def prepare_cluster(kubectl: Kubectl, *, report: Callable[[str], None]) -> ServerKeys:
    """Create CRDs, namespace and server keys. Raises Failure, for example if the cluster's CRDs are newer."""
    if install_crds(kubectl, report=report) == 0:
        raise Failure("crds/ has no definitions: run make crds")
    if find(kubectl, "namespace", NAMESPACE) is None:
        create(kubectl, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    secret = find(kubectl, "secret", SECRET, NAMESPACE)
    if secret is None:
        report(f"creating server keys (Secret {SECRET} in namespace {NAMESPACE})")
        secret = _new_secret()
        create(kubectl, secret)
    try:
        return ServerKeys(
            server_key=secret["data"]["server-key"],
            sealing_keys=base64.b64decode(secret["data"]["sealing-keys"]).decode(),
        )
    except (KeyError, binascii.Error, UnicodeDecodeError):
        raise Failure(f"the Secret {SECRET} in namespace {NAMESPACE} lacks server-key or sealing-keys") from None


def _new_secret() -> dict[str, Any]:
    sealing_keys = "k1:" + base64.b64encode(os.urandom(32)).decode()
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": SECRET, "namespace": NAMESPACE},
        "data": {
            "server-key": base64.b64encode(os.urandom(32)).decode(),
            "sealing-keys": base64.b64encode(sealing_keys.encode()).decode(),
        },
    }


def ensure_account(
    kubectl: Kubectl,
    remembered: Mapping[str, Any],
    *,
    display_name: str = "Example organization",
    runs_per_month: int | None = None,
    report: Callable[[str], None],
) -> Account:
    """The account of the last start if it is still valid in this cluster, with missing parts created."""
    organization = str(remembered.get("organization_id", ""))
    member = str(remembered.get("member_id", ""))
    key = str(remembered.get("api_key", ""))

    if not organization or find(kubectl, f"organizations.{GROUP}", organization) is None:
        organization, member, key = new_id("org"), "", ""
        create(kubectl, organization_object(organization, display_name, runs_per_month))
        report(f"created the organization {organization}")
    if not member or find(kubectl, f"members.{GROUP}", member, NAMESPACE) is None:
        member, key = new_id("u"), ""
        create(kubectl, member_object(member, organization))
    if key and _is_valid(kubectl, key, organization):
        return Account(organization, member, key, is_new=False)
    key = api_keys.new_key()
    create(kubectl, api_key_object(key, organization, member))
    return Account(organization, member, key, is_new=True)


def new_sign_in_link(kubectl: Kubectl, member: str, base_url: str) -> str:
    """A URL that signs the member in to the dashboard once, within an hour. It replaces an earlier one."""
    spec = json.loads(kubectl("get", f"members.{GROUP}", member, "-n", NAMESPACE, "-o", "json"))["spec"]
    name = account_links.account_name(spec["email"])
    token = account_links.token_to(name)
    link = account_links.one_time_link(token, now=utc_now(), lifetime=timedelta(hours=1))
    if find(kubectl, f"localaccounts.{GROUP}", name, NAMESPACE) is None:
        account = LocalAccountSpec(email=spec["email"].lower(), name=spec["name"], link=link)
        create(
            kubectl,
            {
                "apiVersion": f"{GROUP}/v1",
                "kind": "LocalAccount",
                "metadata": {"name": name, "namespace": NAMESPACE},
                "spec": account.to_kube(),
            },
        )
    else:
        change = json.dumps({"spec": {"link": link.to_kube()}})
        kubectl("patch", f"localaccounts.{GROUP}", name, "-n", NAMESPACE, "--type", "merge", "-p", change)
    return account_links.address(base_url, token)


def _is_valid(kubectl: Kubectl, key: str, organization: str) -> bool:
    found = find(kubectl, f"apikeys.{GROUP}", api_keys.object_name(digest(key)), NAMESPACE)
    if found is None or found["spec"].get("revoked"):
        return False
    return bool(found["spec"]["organizationRef"]["name"] == organization)


def organization_object(name: str, display_name: str, runs_per_month: int | None = None) -> dict[str, Any]:
    """`runs_per_month`: None for no limit."""
    plan: dict[str, Any] = {"name": "development"}
    if runs_per_month is not None:
        plan["runsPerMonth"] = runs_per_month
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Organization",
        "metadata": {"name": name, "labels": {ORGANIZATION_LABEL: name}},
        "spec": {"displayName": display_name, "plan": plan},
    }


def member_object(name: str, organization: str) -> dict[str, Any]:
    return _of_organization(
        "Member", name, organization, {"name": "Local Developer", "email": "developer@example.com", "role": "admin"}
    )


def api_key_object(key: str, organization: str, member: str) -> dict[str, Any]:
    """The ApiKey object for the plaintext `key`, which it does not contain."""
    sha256 = digest(key)
    spec = {
        "name": "make run",
        "sha256": sha256,
        "prefix": api_keys.PREFIX,
        "lastFour": key[-4:],
        "createdBy": member,
    }
    return _of_organization("ApiKey", api_keys.object_name(sha256), organization, spec)


def _of_organization(kind: str, name: str, organization: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {ORGANIZATION_LABEL: organization}},
        "spec": {"organizationRef": {"name": organization}, **spec},
    }


def find(kubectl: Kubectl, resource: str, name: str, namespace: str | None = None) -> dict[str, Any] | None:
    """The object, or None if it does not exist."""
    where = ["-n", namespace] if namespace else []
    text = kubectl("get", resource, name, *where, "-o", "json", "--ignore-not-found")
    found: dict[str, Any] | None = json.loads(text) if text.strip() else None
    return found


def create(kubectl: Kubectl, definition: dict[str, Any]) -> None:
    kubectl("create", "-f", "-", stdin=json.dumps(definition))
