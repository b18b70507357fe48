"""OpenSearch on this machine, for tests and benchmarks. Not part of `tidings engines`: few installations search by it.

The runner takes its port from 9201 to 9299 and ends when its standard input is closed. Language analyzers are left out,
because the Java runtime lacks data that they need; Tidings does not use them.
"""

import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tidings.engines import jars
from tidings.engines.jars import DownloadCache
from tidings.engines.node_plan import is_port_free
from tidings.engines.process import open_log
from tidings.kernel.errors import Code, TidingsError

LOCK: Final = "opensearch"
_HEAP_MB: Final = 512
_PORTS: Final = range(9201, 9299)
_READY_S: Final = 120.0
_MODULES: Final = (
    "org.opensearch.index.reindex.ReindexModulePlugin",
    "org.opensearch.transport.Netty4ModulePlugin",
)


def is_installed(cache: DownloadCache) -> bool:
    return not jars.missing_jars(LOCK, cache)


@contextmanager
def run_opensearch(directory: Path, cache: DownloadCache) -> Iterator[str]:
    """Run a node with its data in the directory, and return its URL. It ends with this process too."""
    port = next(each for each in _PORTS if is_port_free(each))
    with open_log(directory / "opensearch.log") as log:
        node = subprocess.Popen(  # noqa: S603 - a fixed command
            [
                *jars.java_command(_HEAP_MB, "--enable-native-access=ALL-UNNAMED"),
                *("-cp", jars.class_path(LOCK, cache)),
                "org.codelibs.opensearch.runner.OpenSearchRunner",
                *("-basePath", str(directory / "data"), "-numOfNode", "1", "-clusterName", f"tidings-{port}"),
                *("-baseHttpPort", str(port - 1), "-moduleTypes", ",".join(_MODULES)),
            ],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=directory,
        )
        try:
            _await_ready(node, f"http://127.0.0.1:{port}", directory)
            yield f"http://127.0.0.1:{port}"
        finally:
            node.kill()
            node.communicate()


def _await_ready(node: "subprocess.Popen[bytes]", url: str, directory: Path) -> None:
    deadline = time.monotonic() + _READY_S
    while time.monotonic() < deadline and node.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5):  # noqa: S310 - this machine
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise TidingsError(
        Code.ENGINE_NOT_READY,
        "OpenSearch did not start.",
        hint=f"Its log: {directory / 'opensearch.log'}",
    )
