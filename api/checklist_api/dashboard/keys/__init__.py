"""API keys as admins see and make them in the dashboard."""
