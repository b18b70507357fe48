"""Start all processes from the image on this machine: read-only root, no privileges, engines on loopback.

chroot takes the place of a container runtime: a mount namespace with a read-only root, the user of the image, and the
machine's network.
"""

import http.client
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from infra.generated import INFRA, ROOT
from infra.image.build import NAME, buildah
from infra.image.context import ImageError
from tidings.app.wiring.options import ADMIN_PORTS
from tidings.engines.model import LOCAL_S3_KEYS

_USER: Final = 10001
_ENGINES: Final = ("dynamo", "kafka", "valkey", "s3")
_READY_S: Final = 90.0
_STOP_S: Final = 60.0
_MOUNTS: Final = """
mount --bind "$0" "$0"
mount -o remount,bind,ro "$0"
mount -t proc proc "$0/proc"
mount --rbind /dev "$0/dev"
mount -t tmpfs tmpfs "$0/tmp"
mount --bind "$DATA" "$0/var/lib/tidings"
mount --bind "$SETTINGS" "$0/etc/tidings"
exec chroot --userspec="$WHO" "$0" /usr/bin/env --ignore-environment "$@"
"""
_FORBIDDEN: Final = ("cc", "gcc", "g++", "ld", "make", "pip", "pip3", "curl", "wget")
"""Programs that the image must not have."""


@dataclass(frozen=True, slots=True)
class StartResult:
    """The result of a start: kinds of processes that became ready, checked deliveries, and faults."""

    ready: tuple[str, ...]
    deliveries: int
    faults: tuple[str, ...]


class ImageRoot:
    """The files of the image, and the commands that run in them as a container would."""

    def __init__(self, root: Path, config: dict[str, Any], data: Path, settings: Path) -> None:
        self.root = root
        self._config = config
        self._data = data
        self._settings = settings

    def start(self, words: list[str], extra: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
        """Start a command in the image with its entry point. The process has the id of the child itself."""
        command, environment = self._command(words, extra)
        with log.open("ab") as output:
            return subprocess.Popen(
                command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
            )

    def run(self, words: list[str], extra: dict[str, str]) -> str:
        """Run a command to its end, and return what it printed. Raises `ImageError` if it fails."""
        command, environment = self._command(words, extra)
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=120
        )
        if done.returncode:
            raise ImageError(
                f"tidings {' '.join(words)}: exit code {done.returncode}\n{done.stderr[-2_000:]}"
            )
        return done.stdout

    def _command(self, words: list[str], extra: dict[str, str]) -> tuple[list[str], dict[str, str]]:
        places = {"DATA": str(self._data), "SETTINGS": str(self._settings), "WHO": self._config["User"]}
        given = [*self._config["Env"], *(f"{name}={value}" for name, value in extra.items())]
        inside = [f"--chdir={self._config['WorkingDir']}", *given, *self._config["Entrypoint"], *words]
        outside = ["unshare", "--mount", "--", "sh", "-ec", _MOUNTS, str(self.root)]
        return [*outside, *inside], {**os.environ, **places}

    def faults(self) -> list[str]:
        """Check what must not be in the image: compilers, programs with setuid, root as its user."""
        found = [path for name in _FORBIDDEN for path in self.root.glob(f"*/bin/{name}")]
        found += [
            path
            for path in self.root.glob("usr/bin/*")
            if not path.is_symlink() and path.stat().st_mode & 0o6000
        ]
        faults = [f"the image has /{path.relative_to(self.root)}" for path in found]
        if self._config["User"] != f"{_USER}:{_USER}":
            faults.append(f"the image runs as {self._config['User']!r}")
        return faults


@contextmanager
def image_root(place: Path) -> Iterator[ImageRoot]:
    """Unpack the image that was built last."""
    container = buildah("from", "--quiet", "--pull-never", NAME).strip()
    try:
        config = json.loads(buildah("inspect", container))["OCIv1"]["config"]
        root = Path(buildah("mount", container).strip())
        data, settings = place / "data", place / "settings"
        for folder in (data, settings):
            folder.mkdir()
            os.chown(folder, _USER, _USER)
        shutil.copy(INFRA / "one-machine" / "tidings.toml", settings)
        key = settings / "tidings.key"
        key.write_bytes(b64encode(secrets.token_bytes(32)))
        key.chmod(0o400)
        os.chown(key, _USER, _USER)
        yield ImageRoot(root, config, data, settings)
    finally:
        buildah("rm", container)


def start_all() -> StartResult:
    """Start dynoxide and every kind of process from the image, and run the harness against them."""
    with tempfile.TemporaryDirectory(prefix="tidings-image-") as name, ExitStack() as stack:
        place = Path(name)
        place.chmod(0o755)
        image = stack.enter_context(image_root(place))
        faults = image.faults()
        environment = stack.enter_context(_local_engines(place))
        running = stack.enter_context(_children())
        own = {key: value for key, value in environment.items() if key != "TIDINGS_DYNAMO_ENDPOINT"}
        running["engines"] = image.start(["engines", "run"], own, place / "dynoxide.log")
        _wait_for_port(int(environment["TIDINGS_ENGINES_DYNAMO_PORT"]), place / "dynoxide.log")
        for words in (["tables", "apply"], ["topics", "apply"]):
            image.run(words, environment)
        admin = {kind: free_port() for kind in ADMIN_PORTS}
        for kind, port in admin.items():
            own = {**environment, "TIDINGS_PROCESS_ADMIN_PORT": str(port)}
            running[kind] = image.start(["run", kind], own, place / f"{kind}.log")
        ready = tuple(kind for kind, port in admin.items() if _is_ready(port, running[kind]))
        faults += [f"{kind} is not ready:\n{_tail(place, kind)}" for kind in admin if kind not in ready]
        deliveries = 0 if faults else _run_harness(image, environment, place)
        faults += _stop_faults(running, place)
        return StartResult(ready, deliveries, tuple(faults))


@contextmanager
def _local_engines(place: Path) -> Iterator[dict[str, str]]:
    """Start Kafka, Valkey and an S3 of this machine, and yield the environment of the processes."""
    ports = {name: str(free_port()) for name in (*_ENGINES, "api", "gateway", "console")}
    engines = {f"TIDINGS_ENGINES_{name.upper()}_PORT": ports[name] for name in _ENGINES}
    command = [sys.executable, "-m", "tidings", "engines"]
    folder = place / "engines"
    folder.mkdir()
    environment = {**os.environ, **engines}
    subprocess.run([*command, "start", "kafka", "valkey", "s3"], cwd=folder, env=environment, check=True)
    try:
        yield {
            **engines,
            "CREDENTIALS_DIRECTORY": "/etc/tidings",
            "TIDINGS_DYNAMO_ENDPOINT": f"http://127.0.0.1:{ports['dynamo']}",
            "TIDINGS_KAFKA_BOOTSTRAP_SERVERS": f"127.0.0.1:{ports['kafka']}",
            "TIDINGS_REDIS_URL": f"redis://127.0.0.1:{ports['valkey']}",
            "TIDINGS_MEDIA_ENDPOINT": f"http://127.0.0.1:{ports['s3']}",
            **{f"TIDINGS_MEDIA_{name.upper()}": value for name, value in LOCAL_S3_KEYS.items()},
            "TIDINGS_SEARCH_ENGINE": "tantivy",
            "TIDINGS_SEARCH_DIRECTORY": "/var/lib/tidings/search",
            "TIDINGS_API_CURSOR_SECRET": secrets.token_urlsafe(32),
            "TIDINGS_CONSOLE_PUBLIC_URL": "https://console.example.com",
            "TIDINGS_CONSOLE_BOOTSTRAP_KEY": secrets.token_urlsafe(32),
            **{f"TIDINGS_{name.upper()}_PORT": ports[name] for name in ("api", "gateway", "console")},
        }
    finally:
        subprocess.run([*command, "stop"], cwd=folder, env=environment, check=True)


@contextmanager
def _children() -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    running: dict[str, subprocess.Popen[bytes]] = {}
    try:
        yield running
    finally:
        for child in running.values():
            child.kill()
            child.wait()


def _run_harness(image: ImageRoot, environment: dict[str, str], place: Path) -> int:
    """Send messages for some seconds, and return the number of deliveries that the harness checked."""
    image.run(["tenant", "create", "image"], environment)
    key = place / "key.json"
    key.write_text(image.run(["tenant", "key", "new", "image"], environment))
    report = place / "report"
    words = ["--api", f"http://127.0.0.1:{environment['TIDINGS_API_PORT']}"]
    words += ["--socket", f"ws://127.0.0.1:{environment['TIDINGS_GATEWAY_PORT']}/v1/socket"]
    words += ["--tenant", "image", "--key", str(key), "--report", str(report)]
    harness = str(Path(sys.executable).parent / "tidings-harness")
    command = [harness, "run", "small", "--for", "10s", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ImageError(f"The harness failed:\n{done.stdout[-2_000:]}{done.stderr[-2_000:]}")
    return int(json.loads((report / "verdict.json").read_text())["deliveries"])


def _stop_faults(running: dict[str, subprocess.Popen[bytes]], place: Path) -> list[str]:
    """Stop the processes as a container runtime does, the engines last."""
    faults = []
    for kind in reversed(running):
        running[kind].terminate()
        if kind != "engines":
            continue
        for name, child in reversed(running.items()):
            if code := child.wait(_STOP_S):
                faults.append(f"{name} ended with {code}:\n{_tail(place, name)}")
    return faults


def _is_ready(port: int, child: subprocess.Popen[bytes]) -> bool:
    deadline = time.monotonic() + _READY_S
    while time.monotonic() < deadline and child.poll() is None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
        try:
            connection.request("GET", "/readyz")
            if connection.getresponse().status == http.HTTPStatus.OK:
                return True
        except OSError:
            pass
        finally:
            connection.close()
        time.sleep(0.2)
    return False


def _wait_for_port(port: int, log: Path) -> None:
    deadline = time.monotonic() + _READY_S
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise ImageError(f"dynoxide does not listen:\n{log.read_text()[-2_000:]}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _tail(place: Path, kind: str) -> str:
    log = place / f"{kind}.log"
    return log.read_text()[-2_000:] if log.exists() else ""
