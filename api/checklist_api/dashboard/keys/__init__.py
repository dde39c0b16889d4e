"""Management of API keys in the dashboard."""
