"""Generates templates from prompts: deterministic, offline, without external accounts.

`reading` extracts items, bounds, choices and conditions from the text. `library` has building blocks for jobs that are
only named. Both create a `draft`, which `finishing` converts to a valid definition.
"""
