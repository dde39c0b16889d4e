"""Maintenance of stored data: the check of the archive, sealing with the current key."""
