"""Run other servers as processes on loopback, each in its own temporary folder."""

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from bench.peers import places
from bench.peers.configs import EJABBERD, SYNAPSE, SYNAPSE_LOG

_UP_WITHIN_S = 120.0
_UNPRIVILEGED = "postgres"


class Served(NamedTuple):
    """A running server.

    `pids` are the processes of the server and of its database, each with all children. `state` is a file with users and
    rooms that exist before the load generator starts, and `missed` a file with those of the test of missed messages.
    """

    url: str
    pids: Mapping[str, int]
    state: Path | None = None
    missed: Path | None = None


@contextmanager
def nats() -> Iterator[Served]:
    port = _free_port()
    with _folder() as place:
        words = [places.nats(), "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", str(place)]
        with _process([*words, "--user", "bench", "--pass", "bench"], port, place) as pid:
            yield Served(f"nats://127.0.0.1:{port}", {"server": pid})


@contextmanager
def ejabberd() -> Iterator[Served]:
    erlang, libraries = places.ejabberd()
    port = _free_port()
    with _folder() as place, _postgres() as database:
        database.load("ejabberd", places.ejabberd_schema())
        settings = place / "ejabberd.yml"
        settings.write_text(EJABBERD.format(port=port, database_port=database.port))
        environment = {
            "EJABBERD_CONFIG_PATH": str(settings),
            "EJABBERD_LOG_PATH": str(place / "ejabberd.log"),
            "ERL_LIBS": str(libraries),
            "ERL_MAX_PORTS": "64000",
            "HOME": str(place),
        }
        mnesia = ["-mnesia", "dir", f'"{place / "mnesia"}"']
        words = [erlang, "+K", "true", "+P", "250000", "-noinput", *mnesia, "-s", "ejabberd"]
        with _process(words, port, place, environment) as pid:
            yield Served(f"ws://127.0.0.1:{port}/ws", {"server": pid, "database": database.pid})


@contextmanager
def synapse() -> Iterator[Served]:
    python, port = places.synapse(), _free_port()
    with _folder() as place, _postgres() as database:
        database.make("synapse")
        settings = place / "homeserver.yaml"
        settings.write_text(SYNAPSE.format(port=port, database_port=database.port, place=place))
        (place / "log.yaml").write_text(SYNAPSE_LOG.format(place=place))
        words = [python, "-m", "synapse.app.homeserver", "-c", str(settings)]
        subprocess.run([*words, "--generate-keys"], check=True, cwd=place, capture_output=True)
        with _process(words, port, place) as pid:
            yield Served(f"http://127.0.0.1:{port}", {"server": pid, "database": database.pid})


class _Database(NamedTuple):
    port: int
    pid: int

    def make(self, name: str) -> None:
        words = ["--encoding=UTF8", "--locale=C", "--template=template0", name]
        subprocess.run([places.postgres("createdb"), *self._there(), *words], check=True)

    def load(self, name: str, schema: Path) -> None:
        self.make(name)
        words = ["-q", "-v", "ON_ERROR_STOP=1", "-d", name, "-f", str(schema)]
        subprocess.run(
            [places.postgres("psql"), *self._there(), *words], check=True, stdout=subprocess.DEVNULL
        )

    def _there(self) -> list[str]:
        return ["-h", "127.0.0.1", "-p", str(self.port), "-U", _UNPRIVILEGED]


@contextmanager
def _postgres() -> Iterator[_Database]:
    """Run Postgres with default settings, including fsync. It refuses to run as root, so root runs it as Debian's user."""
    user = _UNPRIVILEGED if os.geteuid() == 0 else None
    port = _free_port()
    with _folder() as place:
        if user:
            shutil.chown(place, user)
        data, sockets = str(place / "data"), str(place)
        made = [places.postgres("initdb"), "-D", data, "-U", _UNPRIVILEGED, "--auth=trust"]
        subprocess.run(made, check=True, user=user, cwd=place, stdout=subprocess.DEVNULL)
        words = [places.postgres("postgres"), "-D", data, "-p", str(port), "-k", sockets, "-h", "127.0.0.1"]
        with _process(words, port, place, user=user) as pid:
            _until_ready(port)
            yield _Database(port, pid)


def _until_ready(port: int) -> None:
    """Wait until Postgres accepts connections: it opens its port earlier."""
    asked = [places.postgres("pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port)]
    ends_at = time.monotonic() + _UP_WITHIN_S
    while subprocess.run(asked, check=False).returncode:
        if time.monotonic() > ends_at:
            raise TimeoutError("Postgres accepts no connections.")
        time.sleep(0.1)


@contextmanager
def _folder() -> Iterator[Path]:
    """Create a folder that all users may read, because the servers run as different users."""
    place = Path(tempfile.mkdtemp(prefix="tidings-peer-"))
    place.chmod(0o755)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


@contextmanager
def _process(
    words: Sequence[str],
    port: int,
    place: Path,
    environment: Mapping[str, str] | None = None,
    *,
    user: str | None = None,
) -> Iterator[int]:
    """Start a process and return its PID when it accepts connections on the port."""
    given = {**os.environ, **(environment or {})}
    with (place / "out.txt").open("wb") as out:
        popen = subprocess.Popen(words, cwd=place, env=given, user=user, stdout=out, stderr=out)
        try:
            _answers(popen, port, place / "out.txt")
            yield popen.pid
        finally:
            popen.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                popen.wait(15)
            popen.kill()
            popen.wait()


def _answers(popen: subprocess.Popen[bytes], port: int, said: Path) -> None:
    ends_at = time.monotonic() + _UP_WITHIN_S
    while time.monotonic() < ends_at:
        if popen.poll() is not None:
            raise RuntimeError(
                f"The process ended with status {popen.returncode}: {said.read_text()[-2_000:]}"
            )
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.1)
    raise TimeoutError(f"No process accepts connections on port {port}: {said.read_text()[-2_000:]}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
