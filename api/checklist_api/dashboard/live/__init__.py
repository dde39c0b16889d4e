"""The dashboard's event streams: what changed, sent to the pages that show it."""
