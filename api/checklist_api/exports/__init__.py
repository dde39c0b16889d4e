"""Runs as files: CSV, JSON lines, GeoJSON and PDF (docs/exports.md)."""
