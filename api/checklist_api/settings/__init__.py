"""Settings by subject; `service` combines the groups."""
