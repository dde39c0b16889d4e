"""Where things are at a backup's URL.

    photos/..., archive/...                            copies of the stores, shared by all snapshots of the URL
    snapshots/{name}/{folder}/{plural}-{number}.jsonl.zst    objects; a folder is an organization's public id, or
                                                       `nobody`
    snapshots/{name}/copies.jsonl.zst                  which copies belong to it, with their digests
    snapshots/{name}/manifest.json                     that the snapshot is whole; without it there is none
    snapshots/{name}/begun.json                        that its copies are being made, or were
    snapshots/{name}/removed.json                      that the snapshot is being removed
    pruning/{token}.json                               that somebody removes snapshots and copies just now

A snapshot is called by the moment it was begun: `20261122T071822.407Z-1f2e3d4c`, so that names sort as
the snapshots were begun.
"""

import re
from datetime import UTC, datetime
from typing import Final

PREFIX: Final = "snapshots"
PRUNING: Final = "pruning"
NOBODY: Final = "nobody"
"""The folder of what belongs to no organization."""
_NAME: Final = re.compile(r"\d{8}T\d{6}\.\d{3}Z-[0-9a-f]{8}")


def new_name(moment: datetime, token: str) -> str:
    """`token`: eight hexadecimal digits that tell two of one millisecond apart."""
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
