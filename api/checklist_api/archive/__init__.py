"""Reads archived runs."""
