"""Where things are in the repository that these tools belong to."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HACK = ROOT / "hack"
CRDS = ROOT / "crds"
TEMPLATES = ROOT / "examples" / "templates"
STATE = ROOT / ".run"
