"""Management of members in the dashboard."""
