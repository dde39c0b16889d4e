"""The receipt of a completed run, which person and owner can compare.

The digest is of a canonical JSON document (RFC 8785), described in docs/rest.md, so that readers of the run can compute
it again. It includes the SHA-256 of photos, but no URLs.
"""

import base64
import hashlib
from typing import Any

from ..resources.run import Answer, PhotoRef, Run
from ..times import format_timestamp
from ..values.canonical_json import canonical_json
from .events import geo_view


def receipt_view(run: Run) -> dict[str, Any] | None:
    """Returns `{run_id, completed_at, answers, photos, digest}`; None until the run is completed."""
    status = run.status
    if status.completed_at is None:
        return None
    return {
        "run_id": run.id,
        "completed_at": format_timestamp(status.completed_at),
        "answers": len(status.answers),
        "photos": sum(len(answer.photos) for answer in status.answers.values()),
        "digest": receipt_digest(run),
    }


def receipt_digest(run: Run) -> str:
    """Returns `sha-256=` and the digest in base64url without padding."""
    digest = hashlib.sha256(canonical_json(receipt_document(run))).digest()
    return "sha-256=" + base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def receipt_document(run: Run) -> dict[str, Any]:
    """Returns the document that is digested. Raises ValueError unless the run is completed."""
    status, resolved = run.status, run.resolved
    if status.completed_at is None or resolved is None:
        raise ValueError(f"run {run.name} is not completed")
    signature = status.signature
    return {
        "run_id": run.id,
        "template_id": resolved.template_id,
        "template_v": resolved.template_version,
        "answers": {step_id: _answer(answer) for step_id, answer in status.answers.items()},
        "skipped_steps": list(status.skipped_steps),
        "signature": None
        if signature is None
        else {
            "name": signature.name,
            "signed_at": format_timestamp(signature.signed_at),
            "drawing": _sha256(signature.photo),
        },
        "completed_at": format_timestamp(status.completed_at),
    }


def _answer(answer: Answer) -> dict[str, Any]:
    value = answer.value
    if isinstance(value, dict):  # a signature: its URL changes with every read
        value = {"name": value.get("name"), "signed_at": value.get("signed_at"), "drawing": _sha256(answer.drawing)}
    return {
        "value": value,
        "photos": [photo.sha256 for photo in answer.photos],
        "geo": geo_view(answer),
        "at": format_timestamp(answer.at),
        # Only where they say something, so that digests of earlier releases stay the same.
        **({"flagged": True} if answer.flagged else {}),
        **({"note": answer.note} if answer.note is not None else {}),
    }


def _sha256(photo: PhotoRef | None) -> str | None:
    return None if photo is None else photo.sha256
