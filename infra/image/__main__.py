"""`just image context | build | start | check`: write the files of the image, build or start it; check does all, twice."""

import argparse
import json
import shutil
import sys
from pathlib import Path

from infra.image.build import BuiltImage, build_image, dockerfile_faults, sign_and_verify, write_sbom
from infra.image.context import ARCHIVE_EXTRA, EXTRAS, IMAGE, ImageError, inputs_digest, write_context
from infra.image.record import RECORD, ImageRecord
from infra.image.start import start_all

_MAX_MB = 120.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="just image", description=__doc__)
    parser.add_argument("step", choices=("context", "build", "start", "check"))
    parser.add_argument(
        "--archive",
        action="store_true",
        help="include the packages of `tidings run archive`; with context or build",
    )
    given = parser.parse_args()
    step = given.step
    try:
        if step == "start":
            return _start()
        context = write_context(extras=(*EXTRAS, ARCHIVE_EXTRA) if given.archive else EXTRAS)
        if step == "context":
            print(context)
            return 0
        if step == "check":
            return _check(context)
        built = build_image(context)
        print(f"{built.archive}: {built.size_mb} MB compressed")
    except ImageError as error:
        print(f"fault: {error}", file=sys.stderr)
        return 1
    return 0


def _start() -> int:
    """Start the processes from the image that was built last."""
    started = start_all()
    for fault in started.faults:
        print(f"fault: {fault}")
    print(json.dumps({"image_starts": len(started.ready), "deliveries": started.deliveries}))
    return 1 if started.faults else 0


def _check(context: Path) -> int:
    """Build the image twice, compare both, start the second, and record the figures."""
    first = build_image(context, IMAGE / "first.tar")
    return _record(first, build_image(write_context()))


def _record(first: BuiltImage, second: BuiltImage) -> int:
    faults = dockerfile_faults() if shutil.which("hadolint") else []
    is_same = first.layers == second.layers
    if not is_same:
        faults.append("two builds have different layers: compare build/image/first.tar and tidings.tar")
    if second.size_mb > _MAX_MB:
        faults.append(f"the image has {second.size_mb} MB, more than {_MAX_MB:g}")
    components = write_sbom(second.archive) if shutil.which("syft") else None
    if shutil.which("cosign"):
        faults += sign_and_verify(second.archive)
    started = start_all()
    faults += started.faults
    for fault in faults:
        print(f"fault: {fault}")
    record = ImageRecord(
        inputs=inputs_digest(),
        image_mb=second.size_mb,
        image_starts=len(started.ready),
        is_reproducible=is_same,
        sbom_packages=components,
        deliveries=started.deliveries,
        not_run=[name for name in ("hadolint", "syft", "cosign") if not shutil.which(name)],
    )
    if not faults:
        RECORD.write_text(record.to_json())
    print(json.dumps(record.figures()))
    return 1 if faults else 0


sys.exit(main())
