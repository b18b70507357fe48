"""Amazon's DynamoDB Local, the reference for behaviour and limits.

Its licence allows development and tests but no redistribution, so it is downloaded. It does not check credentials, so
Tidings' own launcher class binds it to the loopback address.
"""

import platform
import shutil
import sys
from pathlib import Path

from tidings.engines import jars, process
from tidings.engines.jars import DownloadCache, LockedJar, OnDownloadProgress
from tidings.engines.model import EngineNode
from tidings.kernel.errors import Code, TidingsError

LOCK = "dynamodb-local"
MEMORY_MB = 350
_HEAP_MB = 512
_LAUNCHER = Path(__file__).parent / "loopback"
_MAIN = "LoopbackDynamo"

_NATIVE = {
    ("linux", "x86_64"): "libsqlite4java-linux-amd64",
    ("darwin", "x86_64"): "libsqlite4java-osx",
    ("darwin", "arm64"): "libsqlite4java-osx-aarch64",
}


def version() -> str:
    return "DynamoDB Local " + next(j.version for j in jars.read_lock(LOCK) if j.artifact == "DynamoDBLocal")


def is_installed(cache: DownloadCache) -> bool:
    return not jars.missing_jars(LOCK, cache)


def install(cache: DownloadCache, progress: OnDownloadProgress) -> None:
    _native()
    jars.fetch(LOCK, cache, progress)


def prepare(node: EngineNode, cache: DownloadCache) -> None:
    node.data.mkdir(parents=True, exist_ok=True)
    native = _native()
    target = cache.native / f"{native.artifact}.{native.packaging}"
    if not native.is_sound(target):  # The library is loaded by its name without the version.
        cache.native.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(native.path(cache), target)


def command(node: EngineNode, cache: DownloadCache) -> list[str]:
    store = ["-dbPath", str(node.data)] if node.on_disk else ["-inMemory"]
    return [
        *jars.java_command(
            _HEAP_MB, "--enable-native-access=ALL-UNNAMED", f"-Dsqlite4java.library.path={cache.native}"
        ),
        *("-cp", f"{_LAUNCHER}:{jars.class_path(LOCK, cache)}"),
        _MAIN,
        *("-sharedDb", "-disableTelemetry", "-port", str(node.port)),
        *store,
    ]


def is_ready(node: EngineNode) -> bool:
    return process.is_dynamo_ready(node.port)


def _native() -> LockedJar:
    here = (sys.platform, platform.machine())
    name = _NATIVE.get(here)
    if name is None:
        raise TidingsError(
            Code.ENGINE_NOT_SUPPORTED,
            f"DynamoDB Local has no library for {here[0]} on {here[1]}.",
            hint="Use `--dynamo dynoxide` (needs cargo), Docker (the service dynamodb-local of compose.yaml), or set "
            "dynamo.endpoint to a table service elsewhere.",
        )
    return next(locked for locked in jars.read_lock(LOCK) if locked.artifact == name)
