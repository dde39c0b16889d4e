"""Sign-in to the dashboard, and local accounts."""
