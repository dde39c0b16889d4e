"""The API's way to the Kubernetes API, and what keeps bursts of requests away from it."""
