"""Benchmarks of growth: the cost of one more object, and the needs of idle programs."""
