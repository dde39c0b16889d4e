"""Damage of archive files; an unavailable store is StoreUnavailable instead."""


class Damaged(Exception):
    """A part or a manifest differs from what was written. The text says which one, and how."""
