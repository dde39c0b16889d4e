"""The receipt of a completed run as a PDF, for the person who answered it."""
