"""Server side of the dashboard: sessions, roles, and the routes of its pages."""
