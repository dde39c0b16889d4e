"""The author of a template version: an annotation of the Template, and of that version's revision.

It names its version, since `kubectl edit` creates versions without changing annotations.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from .audit_entry import Actor, ActorKind
from .base import GROUP

CHANGED_BY_ANNOTATION: Final = f"{GROUP}/changed-by"


@dataclass(frozen=True, slots=True)
class TemplateChange:
    """The author of one version."""

    version: int
    kind: ActorKind
    id: str | None
    name: str

    @classmethod
    def by(cls, actor: Actor, version: int) -> "TemplateChange":
        return cls(version, actor.kind, actor.id, actor.name)

    def annotation(self) -> str:
        document = {"v": self.version, "kind": self.kind.value, "id": self.id, "name": self.name}
        return json.dumps(document, ensure_ascii=False, separators=(",", ":"))

    def view(self) -> dict[str, str | None]:
        return {"kind": self.kind.value, "id": self.id, "name": self.name}


def change_of(metadata: Mapping[str, Any], version: int) -> TemplateChange | None:
    """Returns who made `version`, if the metadata says so; the annotation may contain anything."""
    text = str((metadata.get("annotations") or {}).get(CHANGED_BY_ANNOTATION, ""))
    try:
        document = json.loads(text)
        if document["v"] != version:
            return None
        identity = document.get("id")
        return TemplateChange(
            version,
            ActorKind(document["kind"]),
            str(identity)[:253] if identity is not None else None,
            str(document["name"])[:200],
        )
    except (TypeError, ValueError, KeyError, AttributeError, RecursionError):
        return None
