"""`python -m checklist_dev.release.image`: build the image of API and operator, and print its size and contents."""

import argparse
import os
from pathlib import Path

from checklist_dev.failures import Failure, run_tool, say
from checklist_dev.release.image import runtime_lock
from checklist_dev.release.image.archive import PACKED_AT_MOST, UNPACKED_AT_MOST, Archive
from checklist_dev.release.image.build import BILL_IN_IMAGE, ImageOptions, build_image, source_of
from checklist_dev.release.image.engine import NAMES, find_engine
from checklist_dev.repository import ROOT

DIST = ROOT / "dist"


def build(given: argparse.Namespace) -> int:
    """Build the image, and write its archive and bill of materials."""
    engine = find_engine(ROOT / ".cache" / "image.log", given.engine)
    if engine is None:
        raise Failure("no docker, podman or buildah works here (Debian: apt-get install buildah)")
    tag = given.tag or f"localhost/checklist-dispatch:{source_of(ROOT).version}{'-cjk' * given.cjk}"
    build_image(engine, ImageOptions(tag, given.base, given.web, given.clean, given.cjk), say)
    output = Path(given.output or DIST / "checklist-dispatch.tar").absolute()
    output.parent.mkdir(parents=True, exist_ok=True)
    engine.save(tag, output, say)
    archive = Archive.read(output)
    bill = output.with_name(Path(BILL_IN_IMAGE).name)
    bill.write_text(archive.text(BILL_IN_IMAGE))
    unpacked = archive.unpacked()
    print(f"image     {tag}")
    print(f"digest    {archive.digest}")
    print(f"size      {archive.packed / 1e6:.1f} MB packed, {unpacked / 1e6:.1f} MB unpacked")
    print(f"archive   {output}")
    print(f"contents  {bill} (in the image: /{BILL_IN_IMAGE})")
    if not given.cjk and (archive.packed > PACKED_AT_MOST or unpacked > UNPACKED_AT_MOST):
        raise Failure(
            f"the image has outgrown {PACKED_AT_MOST / 1e6:.0f} MB packed or {UNPACKED_AT_MOST / 1e6:.0f} MB unpacked: "
            "see what is new in it, and hack/checklist_dev/release/image/slim.py"
        )
    return 0


def lock(given: argparse.Namespace) -> int:
    if given.check:
        runtime_lock.check()
    else:
        print(f"{runtime_lock.write()} packages in {runtime_lock.RUNTIME.relative_to(ROOT)}")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m checklist_dev.release.image", description=__doc__)
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    building = verbs.add_parser("build", help="build the image with docker, podman or buildah, whichever is installed")
    building.add_argument("--tag", default="", help="name of the image (localhost/checklist-dispatch:VERSION)")
    building.add_argument(
        "--base",
        default=os.environ.get("CHECKLISTS_IMAGE_BASE", ""),
        help="an image with Python and pip, a root file system (.tar) with both, or `local`: from Debian packages "
        "(CHECKLISTS_IMAGE_BASE, else the default in the Containerfile)",
    )
    building.add_argument(
        "--web", choices=("given", "build"), default="given",
        help="take the web app from `make web`, or build it in its own stage with Node (given)",
    )  # fmt: skip
    building.add_argument(
        "--cjk", action="store_true", help="include fonts for Chinese, Japanese and Korean in PDFs (20 MB)"
    )
    building.add_argument("--clean", action="store_true", help="build without cache")
    building.add_argument("--engine", choices=NAMES, default="", help="build tool (the first that works)")
    building.add_argument("--output", default="", help="path of the archive (dist/checklist-dispatch.tar)")
    building.set_defaults(run=build)
    locking = verbs.add_parser("lock", help="write the lock file of the image, from requirements.lock")
    locking.add_argument("--check", action="store_true", help="only check whether it is current")
    locking.set_defaults(run=lock)
    given = parser.parse_args()
    return int(given.run(given))


if __name__ == "__main__":
    run_tool(main)
