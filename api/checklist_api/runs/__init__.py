"""Runs for those who send them: dispatch, reading, cancellation, preview (`/v1/runs`)."""
