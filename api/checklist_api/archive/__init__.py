"""Reading through to the archive: runs whose objects the cluster has no longer, as if it still had them."""
