"""JSON Merge Patch (RFC 7396), for changes of templates in REST and writes of statuses."""

from collections.abc import Mapping
from typing import Any


def apply(target: Any, patch: Any) -> Any:
    """Returns the result of `patch` on `target`, without changing either."""
    if not isinstance(patch, Mapping):
        return patch
    result = dict(target) if isinstance(target, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = apply(result.get(key), value)
    return result


def diff(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the smallest patch with `apply(old, patch) == new`, for documents without null values."""
    patch: dict[str, Any] = {key: None for key in old if key not in new}
    for key, value in new.items():
        before = old.get(key)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            inner = diff(before, value)
            if inner:
                patch[key] = inner
        elif key not in old or not _same(before, value):
            patch[key] = value
    return patch


def _same(left: Any, right: Any) -> bool:
    """Equal as JSON: for Python, True equals 1."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)
