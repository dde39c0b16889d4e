"""The image of this clone, built once, and a cluster with a real node to run it on; without one, tests are skipped.

One process runs them all (tests/conftest.py): there is one node, and it is theirs alone meanwhile.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.chart.node.cluster import Cluster, NoCluster, any_cluster

from checklist_dev.failures import say
from checklist_dev.release.image.archive import Archive
from checklist_dev.release.image.build import LOCAL, ImageOptions, build_image, source_of
from checklist_dev.release.image.engine import Engine, find_engine
from checklist_dev.repository import ROOT


@dataclass(frozen=True, slots=True)
class Image:
    """`name` as pods name it; `archive` holds what was built."""

    name: str
    archive: Path

    @property
    def repository(self) -> str:
        return self.name.rpartition(":")[0]

    @property
    def tag(self) -> str:
        return self.name.rpartition(":")[2]


def base_for(engine: Engine) -> str:
    """Where no registry of images is reached, it is made of Debian's packages."""
    return os.environ.get("CHECKLISTS_IMAGE_BASE", LOCAL if engine.name == "buildah" else "")


@pytest.fixture(scope="session")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """Built now (what has not changed comes from the engine's cache)."""
    engine = find_engine(ROOT / ".cache" / "image.log")
    if engine is None:
        pytest.skip("nothing builds images here: neither docker, podman nor buildah works")
    name = f"localhost/checklist-dispatch:{source_of(ROOT).version}-test"
    build_image(engine, ImageOptions(name, base_for(engine)), say)
    archive = tmp_path_factory.mktemp("image") / "image.tar"
    engine.save(name, archive, say)
    return Image(name, archive)


@pytest.fixture(scope="session")
def contents(image: Image) -> Archive:
    return Archive.read(image.archive)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    try:
        with any_cluster(os.environ, tmp_path_factory.mktemp("cluster")) as found:
            say(f"tests/chart/node: on {found.source}")
            yield found
    except NoCluster as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def loaded(cluster: Cluster, request: pytest.FixtureRequest) -> Image:
    """The image, where the cluster's pods find it."""
    if name := os.environ.get("CHECKLISTS_TEST_IMAGE"):
        return Image(name, Path())
    image: Image = request.getfixturevalue("image")
    try:
        cluster.load(image.archive)
    except NoCluster as reason:
        pytest.skip(str(reason))
    return image
