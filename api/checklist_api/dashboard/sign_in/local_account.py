"""A parsed LocalAccount."""

from dataclasses import dataclass

from checklist_crds.resources.account import LocalAccountSpec
from checklist_crds.resources.base import ORGANIZATION_LABEL
from checklist_crds.values.json_text import JsonObject


@dataclass(frozen=True, slots=True)
class LocalAccount:
    name: str
    """metadata.name; the person's subject."""
    version: str
    organization: str | None
    """Organization where its e-mail address is valid; None: an account of the installation, valid everywhere."""
    spec: LocalAccountSpec

    @property
    def has_password(self) -> bool:
        return self.spec.sealed_password is not None

    @classmethod
    def of(cls, body: JsonObject) -> "LocalAccount":
        """Parse an object. Raises pydantic.ValidationError."""
        metadata = body["metadata"]
        return cls(
            name=str(metadata["name"]),
            version=str(metadata["resourceVersion"]),
            organization=(metadata.get("labels") or {}).get(ORGANIZATION_LABEL),
            spec=LocalAccountSpec.model_validate(body.get("spec") or {}),
        )
