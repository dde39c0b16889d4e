"""A run as a PDF: content in `paper`, drawn by a process of its own (`press`, `worker`), in the fonts of `fonts`."""
