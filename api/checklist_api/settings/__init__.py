"""Everything that can be set, by subject; `service` puts the groups together."""
