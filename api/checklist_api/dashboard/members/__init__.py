"""Members as admins invite, change and remove them in the dashboard."""
