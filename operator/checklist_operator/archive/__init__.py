"""The operator's side of the archive: writes finished runs to it, then takes them out of the cluster."""
