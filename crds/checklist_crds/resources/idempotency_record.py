"""IdempotencyRecord: that a request with an Idempotency-Key has made something; it outlives the thing that was made.

Its name is that of the Run, Template or DeliveryReplay, which is a MAC of the key. So a repeated request finds both,
or finds the record alone: then the thing was deleted, by whatever means, and is not made again.
"""

from pydantic import Field

from ..times import Timestamp
from .base import KubeModel, OrganizationRef


class IdempotencyRecordSpec(KubeModel):
    """What was made with a key; immutable."""

    organization_ref: OrganizationRef = Field(description="The organization whose key it is.")
    expires_at: Timestamp = Field(
        description="Until when the key makes nothing again: 24 hours after its first request. Removed afterwards."
    )
