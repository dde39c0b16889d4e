"""The same sources on the same base give the same layers, bit by bit.

(The digest of the image is not compared: its history names steps by ids that buildah may have of another commit.)
"""

from pathlib import Path

import pytest
from tests.chart.conftest import Image, base_for

from checklist_dev.failures import say
from checklist_dev.image.archive import Archive
from checklist_dev.image.build import Wish, build_image
from checklist_dev.image.engine import find_engine
from checklist_dev.repository import ROOT


def test_a_build_from_nothing_gives_the_same_layers(image: Image, contents: Archive, tmp_path: Path) -> None:
    engine = find_engine(ROOT / ".cache" / "image.log")
    assert engine is not None
    if engine.name == "docker":
        pytest.skip("docker keeps the time of each file: buildah and podman are told not to")
    name = f"{image.name}-again"
    build_image(engine, Wish(name, base_for(engine), clean=True), say)
    archive = tmp_path / "again.tar"
    engine.save(name, archive, say)
    again = Archive.read(archive)
    before, after = contents.fingerprints(), again.fingerprints()
    different = sorted(path for path in before | after if before.get(path) != after.get(path))
    assert different == []
    assert [layer["digest"] for layer in again.layers] == [layer["digest"] for layer in contents.layers]
