"""PDF of a run: content in `paper`, drawn in a separate process (`press`, `worker`) with `fonts`."""
