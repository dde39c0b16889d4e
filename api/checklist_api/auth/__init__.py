"""Who calls: API keys, members and their organization."""
