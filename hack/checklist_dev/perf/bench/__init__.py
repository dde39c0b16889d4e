"""`make bench`: how fast the service is, beside what its bare parts do on the same cores at the same time."""
