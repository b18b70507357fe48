"""DynamoDB Local, Amazon's own: the reference for behaviour and limits.

Its licence allows development and tests, not redistribution: it is fetched, never shipped. It checks no password, so
it must not be reachable from the network: a launcher class of ours binds it to loopback.
"""

import platform
import shutil
import sys
from pathlib import Path

from tidings.engines import jars, java, ready
from tidings.engines.cache import Cache
from tidings.engines.jars import Locked, Progress
from tidings.engines.model import Node
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


def is_installed(cache: Cache) -> bool:
    return not jars.missing(LOCK, cache)


def install(cache: Cache, progress: Progress) -> None:
    _native()
    jars.fetch(LOCK, cache, progress)


def prepare(node: Node, cache: Cache) -> None:
    node.data.mkdir(parents=True, exist_ok=True)
    native = _native()
    target = cache.native / f"{native.artifact}.{native.packaging}"
    if not native.is_sound(target):  # it is looked for by its name without the version
        cache.native.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(native.path(cache), target)


def command(node: Node, cache: Cache) -> list[str]:
    store = ["-dbPath", str(node.data)] if node.on_disk else ["-inMemory"]
    return [
        *java.command(
            _HEAP_MB, "--enable-native-access=ALL-UNNAMED", f"-Dsqlite4java.library.path={cache.native}"
        ),
        *("-cp", f"{_LAUNCHER}:{jars.class_path(LOCK, cache)}"),
        _MAIN,
        *("-sharedDb", "-disableTelemetry", "-port", str(node.port)),
        *store,
    ]


def is_ready(node: Node) -> bool:
    return ready.dynamo_answers(node.port)


def _native() -> Locked:
    here = (sys.platform, platform.machine())
    name = _NATIVE.get(here)
    if name is None:
        raise TidingsError(
            Code.ENGINE_NOT_SUPPORTED,
            f"DynamoDB Local has no library for {here[0]} on {here[1]}.",
            hint="Use `--dynamo dynoxide` (needs cargo), Docker (compose.yaml), or set dynamo.endpoint to a table "
            "service elsewhere.",
        )
    return next(locked for locked in jars.read_lock(LOCK) if locked.artifact == name)
