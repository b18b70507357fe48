"""Build the image with mmdebstrap and buildah, which need no container runtime and no registry."""

import json
import os
import shutil
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from infra.image.context import DOCKERFILE, IMAGE, ImageError, build_epoch, run

NAME: Final = "localhost/tidings:latest"
ARCHIVE: Final = IMAGE / "tidings.tar"
SBOM: Final = IMAGE / "tidings.spdx.json"
_BASE: Final = "localhost/debian:13-slim"
_SUITE: Final = "trixie"
_SLIM: Final = ("/usr/share/man/*", "/usr/share/doc/*", "/usr/share/locale/*", "/usr/share/info/*")
"""What Debian's slim image leaves out."""


@dataclass(frozen=True, slots=True)
class BuiltImage:
    """`layers`: digests of the uncompressed layers. Two builds of the same files have the same ones."""

    archive: Path
    size_bytes: int
    layers: tuple[str, ...]

    @property
    def size_mb(self) -> float:
        return round(self.size_bytes / 1e6, 1)


def missing_tools() -> list[str]:
    """Return what this machine lacks to build the image."""
    lacking = [name for name in ("mmdebstrap", "buildah", "uvx") if not shutil.which(name)]
    return lacking if os.geteuid() == 0 else [*lacking, "root"]


def buildah(*words: str) -> str:
    """Run buildah with a storage of its own, so that it neither needs nor changes the machine's."""
    storage = ["--root", str(IMAGE / "storage"), "--runroot", str(IMAGE / "run"), "--storage-driver", "vfs"]
    return run("buildah", *storage, *words, env={**os.environ, "BUILDAH_ISOLATION": "chroot"})


def build_image(context: Path, archive: Path = ARCHIVE) -> BuiltImage:
    """Build the image from scratch, and write it to an OCI archive with compressed layers."""
    if lacking := missing_tools():
        raise ImageError(f"Not available: {', '.join(lacking)}.")
    epoch = str(build_epoch())
    _build_base(epoch)
    where = ["--pull-never", "--network", "host", "--timestamp", epoch, "--format", "oci"]
    buildah("bud", *where, "--no-cache", "--tag", NAME, "--file", str(context / "Dockerfile"), str(context))
    archive.unlink(missing_ok=True)
    buildah("push", "--quiet", NAME, f"oci-archive:{archive}:{NAME}")
    return read_archive(archive)


def _build_base(epoch: str) -> None:
    base = IMAGE / "base.tar"
    options = [f"--dpkgopt=path-exclude={path}" for path in _SLIM]
    options += ["--aptopt=Acquire::Languages none"]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": epoch}
    run("mmdebstrap", "--quiet", "--variant=minbase", *options, _SUITE, str(base), env=environment)
    container = buildah("from", "--quiet", "scratch").strip()
    buildah("add", "--quiet", container, str(base), "/")
    buildah("commit", "--quiet", "--rm", "--timestamp", epoch, container, _BASE)
    base.unlink()


def read_archive(archive: Path) -> BuiltImage:
    """Read the size of the compressed layers, and the digests of their content."""
    with tarfile.open(archive) as opened:

        def read(name: str) -> Any:  # noqa: ANN401 - JSON of the OCI format
            member = opened.extractfile(name)
            return json.load(member) if member else {}

        def blob(descriptor: dict[str, Any]) -> Any:  # noqa: ANN401 - as above
            return read(f"blobs/{descriptor['digest'].replace(':', '/')}")

        manifest = blob(read("index.json")["manifests"][0])
        config = blob(manifest["config"])
    size_bytes = sum(layer["size"] for layer in manifest["layers"])
    return BuiltImage(archive, size_bytes, tuple(config["rootfs"]["diff_ids"]))


def dockerfile_faults() -> list[str]:
    """Check the Dockerfile with hadolint."""
    try:
        run("hadolint", str(DOCKERFILE))
    except ImageError as error:
        return [str(error)]
    return []


def write_sbom(archive: Path) -> int:
    """Write the list of all packages in the image, as SPDX, and return their number."""
    run("syft", "scan", f"oci-archive:{archive}", "--quiet", "--output", f"spdx-json={SBOM}")
    return len(json.loads(SBOM.read_text())["packages"])


def sign_and_verify(archive: Path) -> list[str]:
    """Sign the archive with a new key, verify it, and check that a changed archive is refused. Return the faults.

    The signature is not written to a public log, which needs a network.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        private, public, signature = folder / "cosign.key", folder / "cosign.pub", folder / "archive.sig"
        environment = {**os.environ, "COSIGN_PASSWORD": "", "COSIGN_YES": "true"}

        def verify(content: Path) -> None:
            trust = ["--insecure-ignore-tlog", "--key", str(public), "--signature", str(signature)]
            run("cosign", "verify-blob", *trust, str(content), env=environment)

        run("cosign", "generate-key-pair", "--output-key-prefix", str(folder / "cosign"), env=environment)
        options = ["--tlog-upload=false", "--key", str(private), "--output-signature", str(signature)]
        run("cosign", "sign-blob", *options, str(archive), env=environment)
        verify(archive)
        changed = folder / "changed.tar"
        changed.write_bytes(archive.read_bytes()[:-1] + b"!")
        try:
            verify(changed)
        except ImageError:
            return []
    return ["cosign accepts the signature of another archive"]
