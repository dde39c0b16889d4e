"""A DeliveryReplay as the operator reads it."""

from dataclasses import dataclass
from typing import Self

from checklist_crds.kube.client import JsonObject
from checklist_crds.kube.informer import Key
from checklist_crds.replay_types import DeliveryReplaySpec, DeliveryReplayStatus


@dataclass(frozen=True, slots=True)
class BulkReplay:
    """A DeliveryReplay as it was read."""

    name: str
    namespace: str
    resource_version: str
    generation: int | None
    spec: DeliveryReplaySpec
    status: DeliveryReplayStatus
    body: JsonObject

    @classmethod
    def parse(cls, body: JsonObject) -> Self:
        """Raises pydantic.ValidationError."""
        metadata = body["metadata"]
        return cls(
            name=metadata["name"],
            namespace=metadata["namespace"],
            resource_version=metadata["resourceVersion"],
            generation=metadata.get("generation"),
            spec=DeliveryReplaySpec.model_validate(body["spec"]),
            status=DeliveryReplayStatus.model_validate(body.get("status") or {}),
            body=body,
        )

    @property
    def key(self) -> Key:
        return self.namespace, self.name
