"""One module describes one command: its options, and what it prints. What it does is in the package of its subject."""
