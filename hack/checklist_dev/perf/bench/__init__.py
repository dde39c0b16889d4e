"""`make bench`: measures the service next to its bare parts on the same cores at the same time."""
