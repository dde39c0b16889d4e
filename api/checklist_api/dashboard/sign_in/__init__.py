"""Signing in to the dashboard, and local accounts."""
