"""Sessions of the dashboard: in the cluster, or in Redis."""
