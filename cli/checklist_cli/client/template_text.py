"""Writes a template as text: JSON for the API, YAML for people, a manifest for Git and kubectl."""

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import yaml

from checklist_crds.resources.base import API_VERSION
from checklist_crds.resources.template_definition import Definition

from ..console.terminal import plain

_NAME: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")
"""The syntax of Kubernetes labels."""
_LONGEST_NAME: Final = 63
_READ_OTHERWISE: Final = re.compile(r"[yYnN]|[-+.]?[0-9][0-9a-zA-Z_.:+-]*")
"""Texts that Kubernetes' YAML reader takes for a boolean or number, and PyYAML's does not: `y`, `1e3`, `0o7`."""
_WIDTH: Final = 118


def as_json(definition: Definition) -> str:
    """The complete TDL as the API returns it, with control characters escaped."""
    text = json.dumps(definition.to_tdl(), ensure_ascii=False, indent=2)
    return "".join(escaped(character) for character in text)


def as_yaml(definition: Definition) -> str:
    """The TDL without default values."""
    return _dumped(short_form(definition))


def as_manifest(definition: Definition, *, name: str, namespace: str | None, organization: str) -> str:
    """A Template for `kubectl apply` or GitOps."""
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    spec = {"organizationRef": {"name": organization}, **short_form(definition)}
    return _dumped({"apiVersion": API_VERSION, "kind": "Template", "metadata": metadata, "spec": spec})


def short_form(definition: Definition) -> dict[str, Any]:
    """The shortest document that parses to an equal definition."""
    return definition.model_dump(mode="json", exclude_defaults=True)


def object_name(title: str) -> str:
    """An object name derived from the template's title, never empty."""
    folded = unicodedata.normalize("NFKD", title.casefold().replace("ß", "ss"))
    words = re.findall(r"[a-z0-9]+", folded.encode("ascii", "ignore").decode())
    return "-".join(words)[:_LONGEST_NAME].strip("-") or "template"


def is_object_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


class _Dumper(yaml.SafeDumper):
    """Quotes texts that another reader would not take for a text."""


def _text_node(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "'" if _READ_OTHERWISE.fullmatch(text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text_node)


def _dumped(document: dict[str, Any]) -> str:
    return str(yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH))


def escaped(character: str) -> str:
    if character == "\n" or unicodedata.category(character) not in ("Cc", "Cf", "Cs"):
        return character
    return json.dumps(character)[1:-1]


Explanation = Mapping[str, Any]
"""`{template, steps, unused}`, the API's response with `explain=true`."""
_HEADINGS: Final = ("step", "type", "sure", "words of the prompt")
_WIDEST: Final = 48
_NO_WORDS: Final = "-"


def table(definition: Definition, explanation: Explanation) -> str:
    """Steps in their order, then unused words. Raises KeyError, TypeError or AttributeError for an explanation of
    another form."""
    known = {each["step_id"]: each for each in explanation["steps"]}
    rows: list[Sequence[str]] = [_HEADINGS]
    for _, step in definition.steps():
        found = known.get(step.id, {})
        confidence, source = found.get("confidence"), found.get("source")
        sure = _NO_WORDS if confidence is None else f"{float(confidence):.0%}"
        rows.append((step.id, step.type.value, sure, _NO_WORDS if source is None else _one_line(source["text"])))
    unused = [_one_line(part["text"]) for part in explanation["unused"]]
    return "\n".join([*_aligned(rows), *([""] if unused else []), *(f"not used: {words}" for words in unused)])


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [min(max(len(row[column]) for row in rows), _WIDEST) for column in range(len(_HEADINGS) - 1)]
    for row in rows:
        yield "  ".join([*(f"{cell:{width}}" for cell, width in zip(row, widths, strict=False)), row[-1]])


def _one_line(text: str) -> str:
    return plain(" ".join(text.split()))
