"""What all commands share: how one ends, the options for the cluster, progress, text for a terminal."""
