"""Exports runs as CSV, JSON Lines, GeoJSON and PDF (docs/exports.md)."""
