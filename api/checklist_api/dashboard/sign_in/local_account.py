"""A LocalAccount as it was read."""

from dataclasses import dataclass

from checklist_crds.kube.client import JsonObject
from checklist_crds.resources.account import LocalAccountSpec
from checklist_crds.resources.base import ORGANIZATION_LABEL


@dataclass(frozen=True, slots=True)
class LocalAccount:
    """A LocalAccount as it was read."""

    name: str
    """metadata.name; the person's subject."""
    version: str
    organization: str | None
    """Whose admin made it, where its e-mail address counts; None: the installation's, and it counts everywhere."""
    spec: LocalAccountSpec

    @property
    def has_password(self) -> bool:
        return self.spec.sealed_password is not None

    @classmethod
    def of(cls, body: JsonObject) -> "LocalAccount":
        """Raises pydantic.ValidationError."""
        metadata = body["metadata"]
        return cls(
            name=str(metadata["name"]),
            version=str(metadata["resourceVersion"]),
            organization=(metadata.get("labels") or {}).get(ORGANIZATION_LABEL),
            spec=LocalAccountSpec.model_validate(body.get("spec") or {}),
        )
