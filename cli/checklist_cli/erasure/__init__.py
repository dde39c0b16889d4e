"""Erases one person's data: finds it everywhere, erases it, searches again, and writes a receipt.

Targets are written to a journal first, so that an interrupted erasure can be resumed; `checklist_crds.archive.erasures`
describes how a running archiver learns of it.
"""
