"""Reads runs that have left the cluster from the archive."""
