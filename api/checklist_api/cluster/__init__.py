"""Access to the Kubernetes API, protected against outages and bursts of requests."""
