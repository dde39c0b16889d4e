"""Detects objects that are managed outside the service, such as by GitOps.

Their manager would soon undo changes made in the dashboard, so the dashboard shows them read-only, with the reason.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from .base import GROUP

MANAGED_BY_ANNOTATION: Final = f"{GROUP}/managed-by"
"""Set by hand if none of the signs below applies."""
OUR_MANAGERS: Final = ("checklist-dispatch", "checklist-operator", "checklist-api")
_MOST: Final = 200


@dataclass(frozen=True, slots=True)
class Manager:
    """The manager of an object, and how it was detected."""

    name: str
    reason: str

    def view(self) -> dict[str, str]:
        return {"manager": self.name, "reason": self.reason}


def manager_of(metadata: Mapping[str, Any]) -> Manager | None:
    """Detects the manager from an object's metadata (with managedFields); None: only the service and kubectl edit."""
    annotations, labels = metadata.get("annotations") or {}, metadata.get("labels") or {}
    if name := _text(annotations.get(MANAGED_BY_ANNOTATION)):
        return Manager(name, f"The annotation {MANAGED_BY_ANNOTATION} says that {name} manages it.")
    if tracking := _text(annotations.get("argocd.argoproj.io/tracking-id")):
        application = tracking.partition(":")[0]
        return Manager("Argo CD", f"Argo CD applies it (application {application}).")
    if application := _text(labels.get("argocd.argoproj.io/instance")):
        return Manager("Argo CD", f"Argo CD applies it (application {application}).")
    if name := _text(labels.get("kustomize.toolkit.fluxcd.io/name")):
        return Manager("Flux", f"Flux applies it (Kustomization {name}).")
    if name := _text(labels.get("helm.toolkit.fluxcd.io/name")):
        return Manager("Flux", f"Flux applies it (HelmRelease {name}).")
    if labels.get("app.kubernetes.io/managed-by") == "Helm":
        release = _text(annotations.get("meta.helm.sh/release-name"))
        return Manager("Helm", f"It belongs to the Helm release {release}." if release else "It belongs to Helm.")
    if name := _applied_by(metadata.get("managedFields") or ()):
        return Manager(name, f"{name} applies it (server-side apply).")
    return None


def _applied_by(entries: Iterable[Mapping[str, Any]]) -> str:
    for entry in entries:
        name = _text(entry.get("manager"))
        # Applying only a status or a label is not management.
        says = "f:spec" in (entry.get("fieldsV1") or {}) and not entry.get("subresource")
        if says and entry.get("operation") == "Apply" and not name.startswith(OUR_MANAGERS):
            return name
    return ""


def _text(value: object) -> str:
    return value.strip()[:_MOST] if isinstance(value, str) else ""
