"""Builds everything and hands it to its users. Only `app` imports it."""
