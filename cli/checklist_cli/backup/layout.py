"""Layout of a backup's URL.

    photos/..., archive/...                            copies of the stores, shared by all snapshots of the URL
    snapshots/{name}/{folder}/{plural}-{number}.jsonl.zst    objects; a folder is an organization's public id, or
                                                       `nobody`
    snapshots/{name}/copies.jsonl.zst                  the snapshot's copies, with their digests
    snapshots/{name}/manifest.json                     commits the snapshot; without it there is none
    snapshots/{name}/begun.json                        its copies are being made, or were
    snapshots/{name}/removed.json                      the snapshot is being removed
    pruning/{token}.json                               a prune is running

A snapshot's name is its start time, so that names sort by it: `20261122T071822.407Z-1f2e3d4c`.
"""

import re
from datetime import UTC, datetime
from typing import Final

PREFIX: Final = "snapshots"
PRUNING: Final = "pruning"
NO_ORGANIZATION: Final = "nobody"
"""The folder of objects without an organization."""
_NAME: Final = re.compile(r"\d{8}T\d{6}\.\d{3}Z-[0-9a-f]{8}")


def new_name(moment: datetime, token: str) -> str:
    """`token`: eight hexadecimal digits that distinguish snapshots of the same millisecond."""
    moment = moment.astimezone(UTC)
    return f"{moment:%Y%m%dT%H%M%S}.{moment.microsecond // 1000:03d}Z-{token}"


def is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


def manifest_key(name: str) -> str:
    return f"{PREFIX}/{name}/manifest.json"


def begun_key(name: str) -> str:
    return f"{PREFIX}/{name}/begun.json"


def removed_key(name: str) -> str:
    return f"{PREFIX}/{name}/removed.json"


def pruning_key(token: str) -> str:
    return f"{PRUNING}/{token}.json"


def copies_key(name: str) -> str:
    return f"{PREFIX}/{name}/copies.jsonl.zst"


def part_key(name: str, folder: str, plural: str, number: int) -> str:
    return f"{PREFIX}/{name}/{folder}/{plural}-{number:05d}.jsonl.zst"
