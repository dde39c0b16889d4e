"""The wheel: a service installed from it has everything that it serves."""

import subprocess
import sys
import zipfile
from pathlib import Path

from checklist_dev.repository import ROOT


def test_the_wheel_holds_the_packages_and_the_built_app_and_nothing_else(web_app: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(tmp_path), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    folder = "checklist_api/web_dist/executor"
    assert {
        f"{folder}/{path.relative_to(web_app).as_posix()}" for path in web_app.rglob("*") if path.is_file()
    } <= names
    assert {"checklist_api/pages/style.css", "checklist_crds/py.typed", "checklist_operator/__main__.py"} <= names
    composer, api = ROOT / "composer" / "checklist_composer", ROOT / "api" / "checklist_api"
    read = [*composer.rglob("*.yaml"), *composer.glob("model/*.crfsuite")]
    tables = {path.relative_to(composer.parent).as_posix() for path in read}
    assert any(name.endswith(".crfsuite") for name in tables)
    assert len(tables) > 40
    assert tables <= names, "what the composer reads"
    data = {path.relative_to(api.parent).as_posix() for path in api.rglob("*.yaml")}
    assert "checklist_api/executor/page_texts.yaml" in data
    assert data <= names, "what the API reads"
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {
        "checklist_api",
        "checklist_cli",
        "checklist_composer",
        "checklist_crds",
        "checklist_operator",
    }
