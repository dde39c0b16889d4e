"""Writes finished runs to the archive, then deletes them from the cluster."""
