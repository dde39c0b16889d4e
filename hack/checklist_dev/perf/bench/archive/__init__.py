"""Benchmarks outside the cluster: archiving, an archived month, exports, erasure, backup and restore."""
