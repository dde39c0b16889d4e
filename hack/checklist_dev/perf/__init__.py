"""How fast it is, what grows, and the load rig under both and under faults: one for all."""
