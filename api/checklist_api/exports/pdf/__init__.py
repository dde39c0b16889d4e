"""A run as a PDF: said in `paper`, drawn by a process of its own (`press`, `worker`), in the fonts of `fonts`."""
