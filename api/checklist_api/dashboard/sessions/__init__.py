"""Session stores of the dashboard: the cluster or Redis."""
