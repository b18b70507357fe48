"""dynoxide, a DynamoDB-compatible engine on SQLite, for load and crash tests. Built once by cargo."""

import os
import shutil
import sqlite3
import subprocess
import tempfile
import time
from pathlib import Path

from tidings.engines import process
from tidings.engines.jars import DownloadCache, OnDownloadProgress
from tidings.engines.model import EngineNode
from tidings.kernel.errors import Code, TidingsError

CRATE, CRATE_VERSION = "dynoxide-rs", "3.2.0"
MEMORY_MB = 60
_FEATURES = "native-sqlite,http-server,cli"
# Half the build time of the crate's own profile, at the cost of a few per cent of speed.
_PROFILE = {"LTO": "off", "CODEGEN_UNITS": "16", "OPT_LEVEL": "2"}

# The engine numbers each stream record with MAX over all of them and has no index for it. Without these indexes, a
# write to a table with a stream becomes slower with every record.
_SEQUENCE = "CAST(sequence_number AS INTEGER)"
_INDEXES = (
    f"CREATE INDEX IF NOT EXISTS x_stream_max ON _stream_records(table_name, {_SEQUENCE})",
    f"CREATE INDEX IF NOT EXISTS x_stream_shard ON _stream_records(table_name, shard_id, {_SEQUENCE})",
)


def version() -> str:
    return f"dynoxide (crate {CRATE_VERSION})"


def is_installed(cache: DownloadCache) -> bool:
    return binary(cache).exists()


def can_be_installed() -> bool:
    return shutil.which("cargo") is not None


def install(cache: DownloadCache, progress: OnDownloadProgress) -> None:
    """Build the engine, which takes about six minutes of CPU once."""
    if is_installed(cache):
        return
    if not can_be_installed():
        raise TidingsError(
            Code.ENGINE_NOT_INSTALLED,
            "dynoxide is built with cargo, which is not installed.",
            hint="Install Rust, or use DynamoDB Local with `--dynamo local`.",
        )
    build(_root(cache), _FEATURES, progress)


def prepare(node: EngineNode, cache: DownloadCache) -> None:
    del cache
    node.data.mkdir(parents=True, exist_ok=True)


def command(node: EngineNode, cache: DownloadCache) -> list[str]:
    serve = ["serve", "--host", "127.0.0.1", "--port", str(node.port)]
    return [str(binary(cache)), *serve, "--db-path", str(database(node))]


def is_ready(node: EngineNode) -> bool:
    return process.is_dynamo_ready(node.port) and _add_indexes(database(node))


def binary(cache: DownloadCache) -> Path:
    return _root(cache) / "bin" / "dynoxide"


def _root(cache: DownloadCache) -> Path:
    """Return the folder of this version and these features. A build with other features is not used."""
    return cache.dynoxide / f"{CRATE_VERSION}-{_FEATURES.replace(',', '-')}"


def database(node: EngineNode) -> Path:
    """Return the file of the SQLite database."""
    return node.data / "dynoxide.db"


def build(root: Path, features: str, progress: OnDownloadProgress) -> None:
    """Build the engine with these features of the crate into `root/bin`."""
    root.mkdir(parents=True, exist_ok=True)
    environ = {f"CARGO_PROFILE_RELEASE_{key}": value for key, value in _PROFILE.items()}
    what = [CRATE, "--version", CRATE_VERSION, "--locked", "--no-default-features", "--features", features]
    with tempfile.TemporaryDirectory(prefix="dynoxide-build-") as target:
        cargo = subprocess.Popen(  # noqa: S603 - a fixed command
            ["cargo", "install", *what, "--root", str(root)],  # noqa: S607
            env=os.environ | environ | {"CARGO_TARGET_DIR": target},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        lines: list[str] = []
        for line in cargo.stderr or ():
            lines.append(line)
            progress(f"dynoxide: {line.strip()}"[:70], len(lines), 0)
        code = cargo.wait()
    if code:
        raise TidingsError(
            Code.ENGINE_FETCH_FAILED,
            "Building dynoxide failed:\n" + "".join(lines[-15:]),
            hint="cargo needs the network once. DynamoDB Local needs no cargo.",
        )


def _add_indexes(path: Path) -> bool:
    """Create the indexes. Returns False if the engine has not created its tables yet, which it does after it listens."""
    deadline = time.monotonic() + 1
    while time.monotonic() < deadline:
        try:
            with sqlite3.connect(f"file:{path}?mode=rw", uri=True, timeout=10) as database:
                for index in _INDEXES:
                    database.execute(index)
        except sqlite3.OperationalError:
            time.sleep(0.02)
        else:
            database.close()
            return True
    return False
