"""Common parts of all custom resources: camelCase, references, status conditions, JSON stored as text."""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, JsonValue
from pydantic.alias_generators import to_camel

from ..times import Timestamp, readable_timestamp

GROUP: Final = "checklists.dev"
VERSION: Final = "v1"
API_VERSION: Final = f"{GROUP}/{VERSION}"
ORGANIZATION_LABEL: Final = f"{GROUP}/org"
CREATED_AT_ANNOTATION: Final = f"{GROUP}/created-at"
"""When the API created the object, in milliseconds (creationTimestamp has seconds)."""
RESTORING_ANNOTATION: Final = f"{GROUP}/restoring"
"""On an Organization whose restore is not complete: the name of the backup."""
RESTORED_ANNOTATION: Final = f"{GROUP}/restored-from"
"""On an Organization whose restore is complete: the name of the backup."""
VERSION_OFFSET_ANNOTATION: Final = f"{GROUP}/version-offset"
"""Added to metadata.generation for a template's version: set by a restore."""
SIZE_ANNOTATION: Final = f"{GROUP}/bytes"
"""On a Template that counts for its organization's limits: size of its definition as compact JSON, in bytes."""
FINGERPRINT_ANNOTATION: Final = f"{GROUP}/idempotency-fingerprint"

_NUMBER: Final = re.compile(r"[0-9]{1,12}")
OBJECT_NAME_PATTERN: Final = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"


class KubeModel(BaseModel):
    """A part of a custom resource: snake_case in Python, camelCase in the cluster, unknown fields ignored."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        extra="ignore",
        # Errors may be logged: they name the field, but never contain its value.
        hide_input_in_errors=True,
    )

    def to_kube(self) -> dict[str, Any]:
        """Returns JSON for the cluster: camelCase, without values that equal a default."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)


def to_json_text(value: JsonValue) -> str:
    """Encodes any JSON value as text.

    A structural schema has no type for "any value"; the text also keeps what Kubernetes would drop (null inside a
    merge patch) or unify (1 and 1.0).
    """
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def made_at(metadata: Mapping[str, Any]) -> str:
    """Returns when the object was first created, RFC 3339, also if a restore created it again.

    Ignores an annotation that is not a time: users can change it.
    """
    written = (metadata.get("annotations") or {}).get(CREATED_AT_ANNOTATION)
    return written if written and readable_timestamp(written) is not None else str(metadata["creationTimestamp"])


def annotated_number(metadata: Mapping[str, Any], annotation: str) -> int:
    """Returns the number in an annotation; 0 if it is missing or invalid."""
    text = (metadata.get("annotations") or {}).get(annotation, "")
    return int(text) if _NUMBER.fullmatch(text) else 0


class OrganizationRef(KubeModel):
    """The organization that an object belongs to."""

    name: str = Field(
        min_length=1, max_length=63, pattern=OBJECT_NAME_PATTERN, description="metadata.name of the Organization."
    )


class ConditionStatus(StrEnum):
    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


_STATUSES: Final = {True: ConditionStatus.TRUE, False: ConditionStatus.FALSE, None: ConditionStatus.UNKNOWN}


class StatusCondition(KubeModel):
    """A Kubernetes condition (metav1.Condition)."""

    type: str = Field(max_length=64, description="Type of the condition, for example Admitted.")
    status: ConditionStatus = Field(description="True, False or Unknown.")
    reason: str = Field(max_length=64, description="One CamelCase word for programs.")
    message: str = Field(default="", max_length=2000, description="A sentence for people.")
    last_transition_time: Timestamp = Field(description="When the status last changed.")
    observed_generation: int | None = Field(
        default=None, ge=0, description="metadata.generation that the condition refers to."
    )


def with_condition(
    conditions: Sequence[StatusCondition],
    kind: str,
    holds: bool | None,
    reason: str,
    message: str,
    *,
    now: datetime,
    generation: int | None,
) -> list[StatusCondition]:
    """Sets one condition (None: Unknown); its transition time only changes with its status."""
    status = _STATUSES[holds]
    before = next((condition for condition in conditions if condition.type == kind), None)
    since = before.last_transition_time if before is not None and before.status == status else now
    fresh = StatusCondition(
        type=kind,
        status=status,
        reason=reason,
        message=message[:2000],
        last_transition_time=since,
        observed_generation=generation,
    )
    if before is None:
        return [*conditions, fresh]
    return [fresh if condition is before else condition for condition in conditions]


def ConditionsField() -> Any:  # noqa: N802 - reads as the Field() that it is
    """Declares the `conditions` of a status: a list-map by type."""
    return Field(
        default_factory=list,
        max_length=16,
        description="Current conditions of the object, by type.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
    )
