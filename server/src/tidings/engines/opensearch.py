"""OpenSearch on this machine, for the search of an installation that uses it. Started by name: few do.

The runner of a single node ends when its standard input is closed, so it reads from a pipe that is never closed. It takes
its port from 9201 to 9299. Language analyzers are left out, because the Java runtime lacks data that they need; Tidings
does not use them.
"""

import http.client
import os
import random
import shlex
from typing import Final

from tidings.engines import jars
from tidings.engines.jars import DownloadCache, OnDownloadProgress
from tidings.engines.model import EngineNode

LOCK: Final = "opensearch"
MEMORY_MB: Final = 900
PORTS: Final = range(9201, 9299)
_HEAP_MB: Final = 512
_PIPE: Final = "stdin"
_TIMEOUT_S: Final = 2.0
_OK: Final = 200
_MODULES: Final = (
    "org.opensearch.index.reindex.ReindexModulePlugin",
    "org.opensearch.transport.Netty4ModulePlugin",
)


def version() -> str:
    return "OpenSearch " + next(j.version for j in jars.read_lock(LOCK) if j.artifact == "opensearch")


def is_installed(cache: DownloadCache) -> bool:
    return not jars.missing_jars(LOCK, cache)


def install(cache: DownloadCache, progress: OnDownloadProgress) -> None:
    if not is_installed(cache):
        jars.fetch(LOCK, cache, progress)


def shuffled_ports() -> list[int]:
    """Return the ports in a random order: two starts at the same time must not choose the same one."""
    return random.sample(PORTS, len(PORTS))


def prepare(node: EngineNode, cache: DownloadCache) -> None:
    del cache
    node.data.mkdir(parents=True, exist_ok=True)
    if not (node.data / _PIPE).exists():
        os.mkfifo(node.data / _PIPE, 0o600)


def command(node: EngineNode, cache: DownloadCache) -> list[str]:
    java = [
        *jars.java_command(_HEAP_MB, "--enable-native-access=ALL-UNNAMED"),
        *("-cp", jars.class_path(LOCK, cache)),
        "org.codelibs.opensearch.runner.OpenSearchRunner",
        *("-basePath", str(node.data / "data"), "-numOfNode", "1", "-clusterName", f"tidings-{node.port}"),
        *("-baseHttpPort", str(node.port - 1), "-moduleTypes", ",".join(_MODULES)),
    ]
    # A pipe that is open for reading and writing has no end.
    return ["sh", "-c", f"exec {shlex.join(java)} <> {shlex.quote(str(node.data / _PIPE))}"]


def is_ready(node: EngineNode) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", node.port, timeout=_TIMEOUT_S)
    try:
        connection.request("GET", "/")
        return connection.getresponse().status == _OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
