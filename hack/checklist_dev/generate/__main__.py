"""Write generated files that are committed, or verify with --check that they are current."""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from checklist_dev.failures import Failure, run_tool, say
from checklist_dev.generate import chart_files, executor_vectors, gallery, settings_docs, template_docs
from checklist_dev.repository import ROOT

Files = Mapping[Path, str]
SOURCES: Final[Mapping[str, Callable[[], Files]]] = {
    "settings": settings_docs.outputs,
    "templates": template_docs.outputs,
    "chart": chart_files.generated,
    "gallery": gallery.outputs,
    "vectors": lambda: {executor_vectors.FILE: executor_vectors.written()},
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m checklist_dev.generate", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(SOURCES)} (default: all)")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file is not current")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - SOURCES.keys():
        parser.error(f"there is no {', '.join(sorted(unknown))}")
    names = arguments.names or list(SOURCES)
    problems = settings_docs.wrong_names() if "settings" in names else []
    for name in names:
        files = SOURCES[name]()
        wrong = [file for file, text in files.items() if not file.exists() or file.read_text("utf-8") != text]
        for file in [*wrong, *(chart_files.leftovers() if name == "chart" else ())]:
            if arguments.check:
                problems.append(f"{file.relative_to(ROOT)} is not current: python -m checklist_dev.generate {name}")
            elif file in files:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(files[file], "utf-8")
                say(f"wrote {file.relative_to(ROOT)}")
            else:
                file.unlink()
                say(f"removed {file.relative_to(ROOT)}")
    if problems:
        raise Failure("\n".join(problems))
    return 0


if __name__ == "__main__":
    run_tool(main)
