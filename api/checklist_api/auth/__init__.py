"""Authentication: API keys, members and their organization."""
