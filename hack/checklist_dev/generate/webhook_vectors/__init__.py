"""Golden vectors of the webhook profile: requests that a receiver has to accept or to refuse, and why.

`python -m checklist_dev.generate webhook-vectors` writes `docs/webhook-vectors.json`; with `--check` it only says
whether the file is current. Receivers run it in tests of their own; so do ours, with every verifier that we have or
know.
"""
