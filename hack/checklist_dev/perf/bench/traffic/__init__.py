"""Benchmarks of the effects of one kind of traffic on others: photos, viewers, large templates, the executor app."""
