"""`kubectl explain` can answer: every field of every kind says in a sentence what it is."""

from collections.abc import Iterator
from typing import Any

import pytest

from checklist_crds.crd import crd_of
from checklist_crds.crd_kinds import RESOURCES, ResourceDescription

OF_KUBERNETES = ("apiVersion", "kind", "metadata")


def fields(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    """(Path, description) of everything below."""
    for name, child in (schema.get("properties") or {}).items():
        if path or name not in OF_KUBERNETES:
            yield f"{path}.{name}", child.get("description", "")
            yield from fields(child, f"{path}.{name}")
    for inner in ("items", "additionalProperties"):
        if isinstance(schema.get(inner), dict):
            yield from fields(schema[inner], path)


def words(text: str) -> str:
    return "".join(character for character in text.lower() if character.isalnum())


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.kind.kind)
def test_every_field_is_explained_by_a_sentence(resource: ResourceDescription) -> None:
    schema = crd_of(resource)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    for path, text in [("", schema["description"]), *fields(schema)]:
        assert text.endswith("."), (path, text)
        assert text[0].isupper() or text.startswith("metadata."), (path, text)
        assert len(text.split()) >= 2, (path, text)
        assert words(text).removeprefix("the") != words(path.rpartition(".")[2]), (path, text)
