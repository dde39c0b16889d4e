"""Writes NAME.yaml, a Template manifest for kubectl, next to each NAME.json, the body for POST /v1/templates.

    python examples/templates/make_manifests.py            write the manifests
    python examples/templates/make_manifests.py --check    exit 1 and name those that are not up to date

The JSON is what people edit. ORGANIZATION is what the manifests refer to: put your own organization's name there.
"""

import json
import sys
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parent
ORGANIZATION = "my-organization"


def manifest(name: str, definition: dict[str, Any]) -> dict[str, Any]:
    """The Template object of a definition; the TDL stands in its spec as it is."""
    return {
        "apiVersion": "checklists.dev/v1",
        "kind": "Template",
        "metadata": {"name": name},
        "spec": {"organizationRef": {"name": ORGANIZATION}, **definition},
    }


def manifest_text(source: Path) -> str:
    """The manifest of one JSON file, as YAML."""
    definition = json.loads(source.read_text(encoding="utf-8"))
    head = f"# Made from {source.name} by make_manifests.py: edit that file, not this one.\n"
    return head + yaml.safe_dump(manifest(source.stem, definition), sort_keys=False, allow_unicode=True, width=118)


def main(arguments: list[str]) -> int:
    stale = []
    for source in sorted(FOLDER.glob("*.json")):
        target, text = source.with_suffix(".yaml"), manifest_text(source)
        if target.exists() and target.read_text(encoding="utf-8") == text:
            continue
        stale.append(target.name)
        if "--check" not in arguments:
            target.write_text(text, encoding="utf-8")
    print(f"{'not up to date' if '--check' in arguments else 'written'}: {', '.join(stale) or 'none'}")
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
