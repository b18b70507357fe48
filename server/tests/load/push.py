"""Notify offline users while workers are killed and users read, and check what their devices show.

An event is a message for one offline user: `--events` is the number of messages times that of the members of a group.
"""

import argparse
import asyncio
import base64
import json
import os
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from confluent_kafka import KafkaException
from fixtures.installation_processes import InstallationProcesses
from fixtures.use_cases import UseCaseEnv

from load.push_checker import (
    PushHistory,
    check_pushes,
    repeated,
)
from load.push_feeder import Feeder
from load.push_receiver import PushServices, receiving
from load.standalone import standalone_installation
from tidings.app.processes.push import GROUP
from tidings.kernel.clock import SystemClock
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.ids import DeviceId, UserId
from tidings.platform.kafka.config import KafkaConfig
from tidings.platform.kafka.consumer import LagProbe
from tidings.platform.kafka.publisher import KafkaPublisher
from tidings.push.model import HttpTarget, PushRegistration
from tidings.push.providers_cache import PushProviderService
from tidings.push.registrations import PushRegistrations
from tidings.push.rules import DEFAULT_DELAYS
from tidings.push.store.providers import DynamoProviderStore
from tidings.push.store.registrations import DynamoRegistrationStore
from tidings.push.store.tasks import topic_delays_ms

BROWSER_EVERY = 10
"""One of ten users has a browser. The others use the tenant's own push service, which costs less to run."""
KILL_EVERY_S = 20.0
CHATS_AT_A_TIME = 10
SESSION = {
    "group.consumer.session.timeout.ms": "10000",
    "group.consumer.heartbeat.interval.ms": "1000",
}
"""Short, so that the partitions of a killed worker do not wait; longer than a busy machine delays a live one."""
UNKNOWN = -1
WORKER = {"FAILPOINTS_PAUSE_AT": "", "PUSH_NETWORK": "local"}


@dataclass(frozen=True, kw_only=True)
class PushRun:
    """Results of a run. `repeated`: requests that were sent more than once, each counted once for each repetition."""

    events: int
    messages: int
    reads: int
    requests: int
    withdrawn: int
    repeated: int
    kills: int
    took_s: float
    broken: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class RunSize:
    """Groups, the members of each, and messages of each. A user is a member of `groups_of_user` groups."""

    groups: int
    members: int
    messages: int
    groups_of_user: int

    @property
    def users(self) -> list[UserId]:
        return [UserId(f"user{n}") for n in range(self.groups * self.members // self.groups_of_user)]

    def members_of(self, group: int) -> list[UserId]:
        users, first = self.users, group * self.members
        return [users[(first + n) % len(users)] for n in range(self.members)]


async def register(use_cases: UseCaseEnv, users: Sequence[UserId], services: PushServices) -> None:
    providers = PushProviderService(DynamoProviderStore(use_cases.client, use_cases.ring), SystemClock())
    for config in (services.http, services.web_push):
        await providers.set(use_cases.tenant, config)
    registrations = PushRegistrations(
        DynamoRegistrationStore(use_cases.client, use_cases.ring), SystemClock()
    )
    await gather_limited(
        registrations.register(
            PushRegistration(
                tenant=use_cases.tenant,
                user=user,
                device=DeviceId("phone"),
                target=services.browsers.get(user) or HttpTarget(token=user),
                registered_ms=0,
            )
        )
        for user in users
    )


class WorkerKiller:
    """Kills one of two workers at a time, the first one soon."""

    def __init__(self, installation: InstallationProcesses, kill_every_s: float) -> None:
        self._installation = installation
        self._kill_every_s = kill_every_s
        self._workers = list(installation.ready("push", "push", **WORKER))
        self.kills: list[float] = []
        self.done = asyncio.Event()

    async def run(self) -> None:
        wait_s = random.uniform(0.5, 1.5)
        while not self.done.is_set():
            try:
                await asyncio.wait_for(self.done.wait(), wait_s)
            except TimeoutError:
                victim = self._workers.pop(0)
                victim.popen.kill()
                victim.exit_code()
                self.kills.append(time.monotonic())
                # The next kill waits for the new worker: otherwise it would be killed while it starts.
                self._workers += await asyncio.to_thread(self._installation.ready, "push", **WORKER)
                wait_s = self._kill_every_s * random.uniform(0.5, 1.5)


class Backlog:
    """The records that the group of the workers has not processed."""

    def __init__(self, config: KafkaConfig) -> None:
        self._topics = [config.topic(name) for name in topic_delays_ms(DEFAULT_DELAYS)]
        self._probe = LagProbe(config, config.group(GROUP), self._topics)

    async def size(self) -> int:
        keys = [(topic, n) for topic in self._topics for n in range(await self._probe.partitions(topic))]
        lags = await self._probe.ask(keys)
        # A partition whose coordinator did not answer has no lag. It must not count as empty.
        return sum(lag.behind for lag in lags.values()) if len(lags) == len(keys) else UNKNOWN

    async def until_empty(self, within_s: float, report: Callable[[int], object]) -> None:
        """Wait until it is empty twice in a row: a retry may be published just before its event is committed."""
        async with asyncio.timeout(within_s):
            empty = 0
            while empty < 2:
                try:
                    size = await self.size()
                except KafkaException:
                    size = UNKNOWN
                report(size)
                empty = empty + 1 if size == 0 else 0
                await asyncio.sleep(1)

    def close(self) -> None:
        self._probe.close()


async def feed(feeder: Feeder, size: RunSize, drain: Callable[[], Any], killer: WorkerKiller) -> None:
    """Send bursts in all groups. When all are processed, send one more message in half of them, whose badges are exact.

    The other half ends with the reads of its members, so devices must have removed what was read.
    """
    groups = {await feeder.create(size.members_of(n)): size.members_of(n) for n in range(size.groups)}
    last = list(groups)[: size.groups // 2]
    killing = asyncio.create_task(killer.run())
    try:
        await gather_limited(
            (feeder.fill(chat, members, size.messages - (chat in last)) for chat, members in groups.items()),
            CHATS_AT_A_TIME,
        )
        await asyncio.gather(*feeder.reading)
        await drain()
        await gather_limited(
            feeder.read_newest(chat, members) for chat, members in groups.items() if chat not in last
        )
        sent = await gather_limited(feeder.send(chat, 1) for chat in last)
        for chat, sequences in zip(last, sent, strict=True):
            await feeder.publish(chat, groups[chat], sequences)
        await drain()
    finally:
        killer.done.set()
        await killing


async def run(
    installation: InstallationProcesses, size: RunSize, within_s: float, kill_every_s: float = KILL_EVERY_S
) -> PushRun:
    began = time.monotonic()
    secret = "whsec_" + base64.b64encode(os.urandom(32)).decode()
    config = KafkaConfig(bootstrap_servers=installation.kafka, topic_prefix=installation.space.topic_prefix)
    publisher, backlog = KafkaPublisher(config), Backlog(config)
    with receiving(secret, installation.directory, size.users[::BROWSER_EVERY]) as (line, services):
        async with installation.use_cases() as use_cases:
            await register(use_cases, size.users, services)
            feeder = Feeder(use_cases, publisher)
            killer = await asyncio.to_thread(WorkerKiller, installation, kill_every_s)

            def report(left: int) -> None:
                line.send("count")
                sys.stderr.write(
                    f"{time.monotonic() - began:6.0f} s  {line.recv()} requests, {left} records left\n"
                )

            await feed(feeder, size, lambda: backlog.until_empty(within_s, report), killer)
        line.send("history")
        received, refused = await asyncio.to_thread(line.recv)
    backlog.close()
    await publisher.close()
    history = PushHistory(feeder.messages, feeder.events, feeder.reads, received, killer.kills)
    return result_of(history, refused, time.monotonic() - began)


def result_of(history: PushHistory, refused: Sequence[str], took_s: float) -> PushRun:
    broken = {rule.value: example for rule, example in check_pushes(history).items()}
    if refused:
        broken["no request is refused"] = refused[0]
    return PushRun(
        events=len(history.events),
        messages=len(history.messages),
        reads=len(history.reads),
        requests=len(history.received),
        withdrawn=sum(each.action == "withdraw" for each in history.received),
        repeated=len(repeated(history)),
        kills=len(history.kills),
        took_s=round(took_s, 1),
        broken=broken,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--groups", type=int, default=200)
    parser.add_argument("--members", type=int, default=50)
    parser.add_argument("--groups-of-user", type=int, default=10)
    parser.add_argument("--within-s", type=float, default=3_600.0)
    parser.add_argument("--kill-every-s", type=float, default=KILL_EVERY_S)
    given: Any = parser.parse_args()
    size = RunSize(
        groups=given.groups,
        members=given.members,
        messages=given.events // (given.groups * given.members),
        groups_of_user=given.groups_of_user,
    )
    with standalone_installation(kafka_extra=SESSION) as installation:
        found = asyncio.run(run(installation, size, given.within_s, given.kill_every_s))
    sys.stdout.write(json.dumps(asdict(found)) + "\n")
    return 1 if found.broken else 0


if __name__ == "__main__":
    sys.exit(main())
