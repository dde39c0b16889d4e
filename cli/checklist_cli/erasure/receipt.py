"""The receipt of an erasure: what was asked, what went, what stays and why, the proof. Genuine under the server key.

It names nobody: whom it is about is a keyed digest, which only who has the server key and the address can make.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from checklist_crds.secrets.sealing import ServerKeys
from checklist_crds.values.canonical_json import canonical_json

KIND: Final = "checklist-dispatch erasure receipt"
FORMAT: Final = 1
_SIGNED: Final = "receipt of an erasure"
_SUBJECT: Final = "subject of an erasure"
_MAC: Final = re.compile(r"[0-9a-f]{64}")


def subject_digest(keys: ServerKeys, organization: str, kind: str, value: str) -> str:
    """Of one thing that a person is known by, under the signing key."""
    return keys.mac(_SUBJECT, _subject(organization, kind, value)).hex()


def whole_subject(asked: Iterable[tuple[str, str]]) -> tuple[str, str]:
    """All of it together, (kind, value) each, as one more thing."""
    return "all", canonical_json([list(one) for one in sorted(asked)]).decode()


def subject_digests(keys: ServerKeys, organization: str, kind: str, value: str) -> set[str]:
    """Under each of the keys: what was noted before a rotation is still known."""
    return {subject_digest(ServerKeys(key), organization, kind, value) for key in keys.all}


def is_about(receipt: Mapping[str, Any], keys: ServerKeys, kind: str, value: str) -> bool:
    """Whether the receipt is about who is known by this."""
    try:
        organization = str(receipt["organization"]["id"])
        digests = {str(one["digest"]) for one in receipt["subject"] if one["kind"] == kind}
    except (KeyError, TypeError):
        return False
    return bool(digests & subject_digests(keys, organization, kind, value))


def signed(receipt: Mapping[str, Any], keys: ServerKeys) -> dict[str, Any]:
    """With its HMAC-SHA-256 over the canonical JSON (RFC 8785) of all else."""
    plain = {name: value for name, value in receipt.items() if name != "hmac"}
    return {**plain, "hmac": keys.mac(_SIGNED, canonical_json(plain)).hex()}


def is_genuine(receipt: object, keys: ServerKeys) -> bool:
    """Whether this installation has made it, and nobody changed it since."""
    if not isinstance(receipt, dict) or receipt.get("kind") != KIND:
        return False
    mac = receipt.get("hmac")
    if not isinstance(mac, str) or not _MAC.fullmatch(mac):
        return False
    plain = {name: value for name, value in receipt.items() if name != "hmac"}
    try:
        return keys.is_mac(_SIGNED, canonical_json(plain), bytes.fromhex(mac))
    except (ValueError, RecursionError):
        return False


def as_text(receipt: Mapping[str, Any]) -> str:
    """As it is kept: JSON that a person can read."""
    return json.dumps(receipt, indent=1, ensure_ascii=False) + "\n"


def summary(receipt: Mapping[str, Any]) -> list[str]:
    """A few lines for whoever ran the command."""
    counts, left = receipt["erased"]["counts"], receipt["proof"]["left"]
    lines = [
        f"erased: {counts['runs']:,} runs ({counts['runs_live']:,} in the cluster, {counts['runs_archived']:,} in the "
        f"archive), {counts['deliveries']:,} deliveries, {counts['replays']:,} replays, {counts['photo_objects']:,} "
        f"objects of photos ({counts['photo_bytes']:,} bytes); {counts['parts']:,} parts of the archive written anew "
        "or gone"
    ]
    lines += [f"held back: {one['run']}: {one['why']}" for one in receipt["held"]]
    lines += [f"left: {one}" for one in receipt["left"]]
    looked = receipt["proof"]["looked_at"]
    lines.append(
        f"proof: looked through again, {looked.get('live_runs', 0):,} live and {looked.get('archived_runs', 0):,} "
        f"archived runs in {looked.get('archive_parts', 0):,} parts: "
        + ("nothing of the person is left" if not any(left.values()) else "NOT everything is gone")
    )
    lines += [f"stays: {one['what']}: {one['why']}" for one in receipt["stays"]]
    lines += [f"elsewhere: {one['where']}: {one['what']}" for one in receipt["elsewhere"]]
    return lines


def _subject(organization: str, kind: str, value: str) -> bytes:
    return canonical_json([organization, kind, value])
