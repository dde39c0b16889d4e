"""Backups of an installation, and what brings one back: `checklist-dispatch backup` and `restore`.

A backup is a snapshot of all objects at one moment (one resource version of the cluster), with copies of all photos
and of the archive. Its form is that of docs/backup.md.
"""
