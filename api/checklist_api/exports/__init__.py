"""Runs as files for people: CSV, JSON lines, GeoJSON and PDF (docs/exports.md)."""
