"""Erasure of one person's data: found in all places, erased, looked for once more, and told in a receipt.

What is to go is noted first (journal), so that whoever is cut off is gone on with; `checklist_crds.archive.erasures`
says how an archiver at work hears of it.
"""
