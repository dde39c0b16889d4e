"""The published vectors (docs/webhook-vectors.json), and their requests as bytes on a socket."""

import json
from typing import Any

from checklist_dev.repository import ROOT

DOCUMENT: dict[str, Any] = json.loads((ROOT / "docs" / "webhook-vectors.json").read_text(encoding="utf-8"))
BY_NAME: dict[str, dict[str, Any]] = {vector["name"]: vector for vector in DOCUMENT["vectors"]}


def target_of(vector: dict[str, Any]) -> str:
    return "/" + vector["url"].split("/", 3)[3]


def raw_request(vector: dict[str, Any]) -> bytes:
    fields = (f"{name}: {value}" for name, value in vector["headers"])
    lines = [f"{vector['method']} {target_of(vector)} HTTP/1.1", *fields]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + vector["body"].encode()


def parameters_of(vector: dict[str, Any]) -> dict[str, str]:
    """The signature parameters by name, without quotes."""
    _, *given = dict(vector["headers"])["Signature-Input"].split(";")
    return {name: value.strip('"') for name, _, value in (each.partition("=") for each in given)}
