"""The parts of `just bench all`, in the order of the report, and the code that runs one of them."""

import os
import platform
import subprocess
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, Protocol, cast

import psutil

from bench.whole.model import Found, Result

ROOT = Path(__file__).parents[2]


class Measure(Protocol):
    def __call__(self, *, is_short: bool) -> Found: ...


class Part(NamedTuple):
    """One part. `place` is a module and a function, imported when the part runs. `peer` is the server it measures."""

    name: str
    title: str
    place: str
    peer: str = ""

    def measure(self) -> Measure:
        module, _, function = self.place.partition(":")
        return cast("Measure", getattr(import_module(f"bench.whole.{module}"), function))


PARTS = (
    Part("sends", "A durable send compared with a plain DynamoDB write", "beside_bare:sends"),
    Part("fanout", "The gateway compared with the plain WebSocket library", "beside_bare:fanout"),
    Part("deliver", "From send to delivery", "delivering:deliver"),
    Part("units", "DynamoDB units per operation", "units:units"),
    Part("growth-history", "Length of a chat's history", "growth_history:history"),
    Part("growth-members", "Number of members in a group", "growth_members:members"),
    Part("growth-connections", "Number of connections", "growth_connections:connections"),
    Part("growth-chats", "Number of chats of a user", "growth_chats:chats"),
    Part("growth-groups", "Number of groups of a user", "growth_chats:groups"),
    Part("growth-storm", "Reconnect storm", "growth_storm:storm"),
    Part("peer-tidings", "Tidings, with the load generator of the comparison", "peers:tidings", "Tidings"),
    Part("peer-nats", "NATS JetStream, file storage", "peers:nats", "NATS JetStream"),
    Part("peer-ejabberd", "ejabberd with its archive in Postgres", "peers:ejabberd", "ejabberd"),
    Part("peer-synapse", "Synapse with Postgres", "peers:synapse", "Synapse"),
)
BY_NAME: Mapping[str, Part] = {part.name: part for part in PARTS}


def run(part: Part, *, is_short: bool) -> Result:
    began, clock, load = datetime.now(UTC), time.monotonic(), os.getloadavg()[0]
    found = part.measure()(is_short=is_short)
    short = " --short" if is_short else ""
    return Result(
        part=part.name,
        title=part.title,
        found=found,
        is_short=is_short,
        peer=part.peer,
        machine=machine(),
        commit=commit(),
        command=f"just bench all --only {part.name}{short}",
        began_at=began.strftime("%Y-%m-%d %H:%M UTC"),
        took_s=round(time.monotonic() - clock, 1),
        load_before=round(load, 2),
        load_after=round(os.getloadavg()[0], 2),
    )


def gone(part: Part) -> Result:
    """Return the result of a part that failed. It replaces earlier figures, which are not of this run."""
    return Result(
        part=part.name, title=part.title, found=Found(skipped="it failed"), is_short=False, peer=part.peer
    )


def machine() -> dict[str, str]:
    gib = psutil.virtual_memory().total / 2**30
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{gib:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}",
        "Python": platform.python_version(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((row.partition(":")[2].strip() for row in lines if row.startswith("model name")), "unknown")


def commit() -> str:
    """Return the current commit, with `+changes` if files outside the report's folder are not committed."""
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs/benchmarks")
    return _git("rev-parse", "--short", "HEAD") + ("+changes" if changed else "")


def _git(*words: str) -> str:
    asked = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False)
    return asked.stdout.strip()
