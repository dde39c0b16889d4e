"""Performance and growth: benchmarks, soak tests, and the load rig that they share with the fault tests."""
