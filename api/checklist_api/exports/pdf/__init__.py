"""PDF of a run: content in `content`, drawn in a separate process (`printer`, `worker`) with `fonts`."""
