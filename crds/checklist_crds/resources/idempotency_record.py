"""IdempotencyRecord: a used Idempotency-Key; it outlives the object that was created with the key.

It has the name of the Run, Template or DeliveryReplay, which is a MAC of the key. A repeated request finds both, or
only the record: then the object was deleted, and is not created again.
"""

from pydantic import Field

from ..times import Timestamp
from .base import KubeModel, OrganizationRef


class IdempotencyRecordSpec(KubeModel):
    """A used key; immutable."""

    organization_ref: OrganizationRef = Field(description="The organization whose key it is.")
    expires_at: Timestamp = Field(
        description="When the key expires and the record is deleted: 24 hours after its first request."
    )
