"""Benchmarks of requests and events: rate, latency, overload."""
