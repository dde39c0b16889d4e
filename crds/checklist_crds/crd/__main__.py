"""`python -m checklist_crds.crd`: writes the CustomResourceDefinitions from the models, one YAML file per kind."""

import argparse
import sys
from pathlib import Path

from .definition import render
from .resource_descriptions import RESOURCES


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m checklist_crds.crd", description=__doc__)
    default = Path(__file__).resolve().parents[2]
    parser.add_argument("--output", type=Path, default=default, help="folder for the YAML files (default: crds/)")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file is not current")
    options = parser.parse_args()
    stale = []
    for resource in RESOURCES:
        path = options.output / f"{resource.kind.plural}.yaml"
        text = render(resource)
        if options.check:
            if not path.exists() or path.read_text() != text:
                stale.append(path.name)
        else:
            path.write_text(text)
            sys.stdout.write(f"wrote {path} ({len(text) // 1024} KB)\n")
    if stale:
        sys.stderr.write(f"not current: {', '.join(stale)}; run `make crds`\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
