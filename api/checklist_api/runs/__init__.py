"""Runs for owners: dispatch, reading, cancellation, preview (`/v1/runs`)."""
