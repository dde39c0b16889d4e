"""Work on what an installation has stored: the check of the archive, sealing with the current key."""
