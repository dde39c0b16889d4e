"""Installs the project's custom resource definitions into a cluster, but not over newer ones.

Every generated file has the annotation `checklists.dev/crd-version`, an integer that increases with schema changes.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from checklist_dev.failures import Failure
from checklist_dev.local.kubectl import Kubectl
from checklist_dev.repository import CRDS

GROUP = "checklists.dev"
VERSION_ANNOTATION = "checklists.dev/crd-version"
FIELD_MANAGER = "checklist-dispatch"


def crd_files(folder: Path = CRDS) -> list[Path]:
    return sorted(folder.glob("*.yaml"))


def install_crds(
    kubectl: Kubectl, folder: Path = CRDS, *, downgrade: bool = False, report: Callable[[str], None] | None = None
) -> int:
    """Apply all definitions in `folder` and wait until they are served; returns their number.

    Raises Failure, before any change, if the cluster has a newer version of one of them, unless `downgrade`.
    """
    files = crd_files(folder)
    if not files:
        return 0
    definitions = [yaml.safe_load(file.read_text()) for file in files]
    if not downgrade:
        _refuse_newer(kubectl, definitions)
    names = [f"crd/{definition['metadata']['name']}" for definition in definitions]
    arguments = [word for file in files for word in ("-f", str(file))]
    kubectl("apply", "--server-side", "--force-conflicts", f"--field-manager={FIELD_MANAGER}", *arguments)
    kubectl("wait", "--for=condition=Established", "--timeout=30s", *names)
    if report:
        report(f"{len(names)} custom resource definitions are in place")
    return len(names)


def _refuse_newer(kubectl: Kubectl, definitions: list[dict[str, Any]]) -> None:
    ours = {definition["metadata"]["name"]: crd_version(definition) for definition in definitions}
    present = json.loads(kubectl("get", "crds", "-o", "json"))["items"]
    for definition in present:
        name = definition["metadata"]["name"]
        if name in ours and crd_version(definition) > ours[name]:
            raise Failure(
                f"the cluster has version {crd_version(definition)} of {name} and this checkout only {ours[name]}: "
                "update the checkout, or use another cluster"
            )


def crd_version(definition: dict[str, Any]) -> int:
    """The version, or 0 without one: older than all of ours."""
    text = (definition["metadata"].get("annotations") or {}).get(VERSION_ANNOTATION, "0")
    try:
        return int(text)
    except ValueError:
        return 0
