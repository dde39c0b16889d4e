"""The dashboard's event streams."""
