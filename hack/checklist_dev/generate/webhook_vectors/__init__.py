"""Golden vectors of the webhook profile: requests that a receiver must accept or refuse, and why.

`python -m checklist_dev.generate webhook-vectors` writes `docs/webhook-vectors.json`; `--check` only verifies that it
is current. Receivers run it in their own tests, and so do ours, with all available verifiers.
"""
