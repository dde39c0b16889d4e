"""One module per command: its options and output. The work is done in the package of its subject."""
