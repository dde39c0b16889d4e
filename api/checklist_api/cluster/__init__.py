"""Client of the Kubernetes API with load shedding and a circuit breaker."""
