"""What is wrong with an archive that cannot be read: never what merely does not answer (StoreUnavailable)."""


class Damaged(Exception):
    """A part or a manifest is not what it was when it was written. The text says which, and how one sees it."""
