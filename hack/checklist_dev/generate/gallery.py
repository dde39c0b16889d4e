"""The examples of `examples/templates` for the dashboard's gallery: the web app is built from `api/web` alone."""

import json
from pathlib import Path
from typing import Any, Final

from checklist_dev.repository import ROOT

EXAMPLES: Final = ROOT / "examples" / "templates"
GALLERY: Final = ROOT / "api" / "web" / "dashboard" / "pages" / "templates" / "gallery.json"


def gallery_text() -> str:
    """All examples by file name, one a line, so that a change of one is a change of one line."""
    examples: dict[str, Any] = {
        path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(EXAMPLES.glob("*.json"))
    }
    lines = (f"  {json.dumps(name)}: {json.dumps(each, ensure_ascii=False)}" for name, each in examples.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def outputs() -> dict[Path, str]:
    return {GALLERY: gallery_text()}
