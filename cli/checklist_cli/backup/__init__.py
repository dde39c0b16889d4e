"""Backup and restore of an installation: `checklist-dispatch backup` and `restore`.

A backup is a snapshot of all objects at one resource version of the cluster, with copies of all photos and of the
archive. Format: docs/backup.md.
"""
