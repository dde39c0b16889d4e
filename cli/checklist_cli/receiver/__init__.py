"""Tools for receivers of webhooks: captured requests, their verification, the listener."""
