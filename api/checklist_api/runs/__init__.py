"""Runs for their owners: dispatch, reading, cancellation, preview (`/v1/runs`)."""
