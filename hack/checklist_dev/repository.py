"""Paths in the repository."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HACK = ROOT / "hack"
CRDS = ROOT / "crds"
TEMPLATES = ROOT / "examples" / "templates"
STATE = ROOT / ".run"
