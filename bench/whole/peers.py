"""Measure Tidings and other servers one after the other, with the same load generator and the same work.

A server that is not installed is skipped, and the result states the reason.
"""

import asyncio
import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from bench.e2e import Installation, installation
from bench.peers import places, servers
from bench.peers.servers import Served
from bench.whole.growth_members import gathered, serve_large_groups
from bench.whole.model import Better, Figure, Found, figure

_MEASURED_WITHIN_S = 400.0
_SERVER, _BESIDE = "server", "database"

type Lines = Mapping[str, Mapping[str, Any]]


class Load(NamedTuple):
    """The size of each workload."""

    seconds: float
    pairs: int
    receivers: int
    connections: int
    rounds: int
    light_per_s: int = 50

    @property
    def users(self) -> int:
        return max(2 * self.pairs + 2, self.receivers + 1)

    def words(self) -> list[str]:
        given = {
            "dur": f"{self.seconds}s",
            "pairs": self.pairs,
            "receivers": self.receivers,
            "conns": self.connections,
            "users": self.users,
            "rounds": self.rounds,
            "rate": self.light_per_s,
        }
        return [word for name, value in given.items() for word in (f"-{name}", str(value))]


_SHORT = Load(seconds=2, pairs=5, receivers=20, connections=50, rounds=5)
FULL = Load(seconds=10, pairs=50, receivers=1_000, connections=3_000, rounds=100)
_SLOW = Load(seconds=10, pairs=10, receivers=50, connections=0, rounds=20, light_per_s=4)
"""For a server that needs a fifth of a second for every operation."""


def tidings(*, is_short: bool) -> Found:
    load = _SHORT if is_short else FULL
    return _measured("tidings", lambda: _tidings(load), load)


def nats(*, is_short: bool) -> Found:
    return _measured("nats", servers.nats, _SHORT if is_short else FULL)


def ejabberd(*, is_short: bool) -> Found:
    return _measured("xmpp", servers.ejabberd, _SHORT if is_short else FULL)


def synapse(*, is_short: bool) -> Found:
    load = Load(2, 3, 4, 0, 2, light_per_s=4) if is_short else _SLOW
    return _measured("matrix", servers.synapse, load)


_DURABLE = {
    "tidings": "an acknowledged message is committed in DynamoDB. It is delivered again until the device acknowledges it.",
    "nats": "an acknowledged message is in the page cache of one server. NATS has no memberships, unread counts or per-user state.",
    "xmpp": "an acknowledged direct message is committed to its sender's archive in Postgres. In a room, the acknowledgement"
    " comes before the message is in the room's archive. Rooms do not announce joins and leaves, which is the usual"
    " setting for large rooms.",
    "matrix": "an acknowledged message is committed in Postgres. Synapse also federates, which these workloads do not use."
    " It was measured with fewer pairs, receivers and sends per second than the other servers, because it does not keep"
    " up with their load.",
}


def _measured(peer: str, serve: Callable[[], AbstractContextManager[Served]], load: Load) -> Found:
    try:
        loader = places.loader()
        with serve() as served, tempfile.TemporaryDirectory() as place:
            lines = _loaded(loader, peer, served, load, Path(place))
            return Found(figures=tuple(_figures(lines)), remarks=(_DURABLE[peer],))
    except places.NotInstalledError as missing:
        return Found(skipped=str(missing))


def _loaded(loader: Path, peer: str, served: Served, load: Load, place: Path) -> Lines:
    """Run the workloads: idle connections first, while the server uses little memory, and missed messages last."""
    first = "idle,light,sat,fan" if load.connections else "light,sat,fan"
    lines: dict[str, Mapping[str, Any]] = {}
    for tests, state in ((first, served.state), ("catchup", served.missed)):
        pids = ",".join(f"{name}={pid}" for name, pid in served.pids.items())
        words = ["-peer", peer, "-url", served.url, "-pids", pids, "-test", tests]
        said = _ran([str(loader), *words, "-state", str(state or place / "state.json"), *load.words()])
        lines |= {line["test"]: line for line in map(json.loads, said.splitlines())}
    return lines


def _ran(words: Sequence[str]) -> str:
    done = subprocess.run(words, check=False, timeout=_MEASURED_WITHIN_S, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"The load generator failed: {done.stderr[-1_000:]}")
    return done.stdout


class _Row(NamedTuple):
    name: str
    unit: str
    test: str
    field: str
    better: Better = "less"


_ROWS = (
    _Row("direct messages at saturation", "per second", "sat", "acked_per_s", "more"),
    _Row("send to acknowledgement at low load, p50", "ms", "light", "ack_p50_ms"),
    _Row("send to receipt at low load, p50", "ms", "light", "recv_p50_ms"),
    _Row("wire size of a received message with 100 bytes of text", "bytes", "light", "recv_bytes_per_msg"),
    _Row("connect and receive 100 missed messages, p50", "ms", "catchup", "total_p50_ms"),
)
_CPU = (
    ("CPU per direct message", "sat"),
    ("CPU per fan-out delivery", "fan"),
    ("CPU per connect", "idle"),
)


def _figures(lines: Lines) -> Iterator[Figure]:
    for row in _ROWS:
        if row.test in lines and row.field in lines[row.test]:
            yield figure(row.name, float(lines[row.test][row.field]), row.unit, better=row.better)
    for name, test in _CPU:
        if test in lines:
            yield figure(f"{name}, server", _sum(lines[test], _SERVER, "cpu_us_per"), "µs")
            yield figure(f"{name}, database", _sum(lines[test], _BESIDE, "cpu_us_per"), "µs")
    if "catchup" in lines:
        both = sum(_sum(lines["catchup"], whose, "cpu_us_per") for whose in (_SERVER, _BESIDE))
        yield figure("CPU to connect and receive 100 missed messages, server and database", both, "µs")
    if "idle" in lines:
        yield figure("memory per idle connection", _sum(lines["idle"], _SERVER, "rss_kb_per_conn"), "KB")
    if "sat" in lines:
        yield figure(
            "load generator CPU per direct message", _sum(lines["sat"], "client", "cpu_us_per"), "µs"
        )
    yield figure("lost messages", _missing(lines))


def _sum(line: Mapping[str, Any], whose: str, field: str) -> float:
    """Add up a field of all processes of one kind. A process is named after its kind and a suffix."""
    return sum(
        float(value) for name, value in line.items() if name.startswith(whose) and name.endswith(field)
    )


def _missing(lines: Lines) -> float:
    lost = sum(max(0, line["acked"] - line["got"]) for name, line in lines.items() if name == "sat")
    return float(lost + sum(line["missing"] for name, line in lines.items() if name == "fan"))


_UNLIMITED = {
    "GATEWAY_MAX_CONNECTS_PER_S": "100000",
    "GATEWAY_CONNECT_BURST": "100000",
    **{f"LIMITS_{whom}_RATE": "1000000/s" for whom in ("USER", "TENANT", "ADDRESS")},
    **{f"LIMITS_{whom}_BURST": "1000000" for whom in ("USER", "TENANT", "ADDRESS")},
}


@contextmanager
def _tidings(load: Load) -> Iterator[Served]:
    with installation(**_UNLIMITED) as here, tempfile.TemporaryDirectory() as place:
        states = {name: Path(place) / f"{name}.json" for name in ("state", "missed")}
        # Without the processes that create the group, which have nothing to do afterwards.
        ours = {f"{_SERVER}-{n}": each.popen.pid for n, each in enumerate(here.processes.values())}
        for name, people in asyncio.run(_people(here, load)).items():
            states[name].write_text(json.dumps(people))
        urls = ",".join(f"ws://127.0.0.1:{port}/v1/socket" for port in here.ports)
        yield Served(urls, {**ours, **_engines(here)}, states["state"], states["missed"])


def _engines(here: Installation) -> dict[str, int]:
    return {f"{_BESIDE}-{each.node.engine.value}": each.pid.pid for each in here.env.fleet.status()}


type People = dict[str, str | list[str]]


async def _people(here: Installation, load: Load) -> dict[str, People]:
    """Create the pairs of users, and a group of all receivers that its last member owns.

    The user who misses messages has one chat and is in no group.
    """
    await serve_large_groups(here)
    names = [f"u{number}" for number in range(load.users)]
    pairs = [str((await here.env.direct(names[2 * n], names[2 * n + 1])).chat) for n in range(load.pairs)]
    group = await gathered(here, names[load.receivers :: -1])
    for line in (group.sender, group.receiver):
        line.close()
    tokens = [here.env.token(name) for name in names]
    apart = ["one-apart", "two-apart"]
    apart_chat = (await here.env.direct(apart[0], apart[1])).chat
    apart_tokens = [*tokens[: 2 * load.pairs], *map(here.env.token, apart)]
    return {
        "state": {"Tokens": tokens, "Pairs": pairs, "Group": group.chat},
        "missed": {"Tokens": apart_tokens, "Pairs": [*pairs, apart_chat], "Group": ""},
    }
