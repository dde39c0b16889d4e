"""The receipt of an erasure: the request, what was erased, what is kept and why, the proof. Signed with the server key.

It contains no names: the person is a keyed digest, which only the server key and the address together can reproduce.
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
    """The digest of one identifier of a person, under the signing key."""
    return keys.mac(_SUBJECT, _subject(organization, kind, value)).hex()


def whole_subject(asked: Iterable[tuple[str, str]]) -> tuple[str, str]:
    """All (kind, value) pairs together as one more identifier."""
    return "all", canonical_json([list(one) for one in sorted(asked)]).decode()


def subject_digests(keys: ServerKeys, organization: str, kind: str, value: str) -> set[str]:
    """The digest under each key, since a rotation keeps old digests valid."""
    return {subject_digest(ServerKeys(key), organization, kind, value) for key in keys.all}


def is_about(receipt: Mapping[str, Any], keys: ServerKeys, kind: str, value: str) -> bool:
    """Whether the receipt is about the person with this identifier."""
    try:
        organization = str(receipt["organization"]["id"])
        digests = {str(one["digest"]) for one in receipt["subject"] if one["kind"] == kind}
    except (KeyError, TypeError):
        return False
    return bool(digests & subject_digests(keys, organization, kind, value))


def signed(receipt: Mapping[str, Any], keys: ServerKeys) -> dict[str, Any]:
    """The receipt with an HMAC-SHA-256 over its canonical JSON (RFC 8785)."""
    plain = {name: value for name, value in receipt.items() if name != "hmac"}
    return {**plain, "hmac": keys.mac(_SIGNED, canonical_json(plain)).hex()}


def is_genuine(receipt: object, keys: ServerKeys) -> bool:
    """Whether this installation made the receipt and it is unchanged."""
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
    """The receipt as indented JSON."""
    return json.dumps(receipt, indent=1, ensure_ascii=False) + "\n"


def summary(receipt: Mapping[str, Any]) -> list[str]:
    """A few lines for the terminal."""
    counts, left = receipt["erased"]["counts"], receipt["proof"]["left"]
    lines = [
        f"erased: {counts['runs']:,} runs ({counts['runs_live']:,} in the cluster, {counts['runs_archived']:,} in the "
        f"archive), {counts['deliveries']:,} deliveries, {counts['replays']:,} replays, {counts['photo_objects']:,} "
        f"objects of photos ({counts['photo_bytes']:,} bytes); {counts['parts']:,} parts of the archive rewritten or "
        "deleted"
    ]
    lines += [f"held back: {one['run']}: {one['why']}" for one in receipt["held"]]
    lines += [f"left: {one}" for one in receipt["left"]]
    looked = receipt["proof"]["looked_at"]
    lines.append(
        f"proof: searched again, {looked.get('live_runs', 0):,} live and {looked.get('archived_runs', 0):,} "
        f"archived runs in {looked.get('archive_parts', 0):,} parts: "
        + ("nothing of the person is left" if not any(left.values()) else "NOT everything is erased")
    )
    lines += [f"kept: {one['what']}: {one['why']}" for one in receipt["stays"]]
    lines += [f"elsewhere: {one['where']}: {one['what']}" for one in receipt["elsewhere"]]
    return lines


def _subject(organization: str, kind: str, value: str) -> bytes:
    return canonical_json([organization, kind, value])
