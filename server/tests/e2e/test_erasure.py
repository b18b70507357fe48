"""An erasure over real processes and Kafka: its workers are killed at one step after the other, and the user is erased."""

import asyncio
import signal

import pytest
from faults.clients import items_with
from fixtures.installation_processes import InstallationProcesses
from fixtures.use_cases import BEN, CLEO, UseCaseEnv, by

from tidings.accounts.store.users import DynamoUserStore
from tidings.accounts.users import UserService
from tidings.app.settings import Settings
from tidings.app.wiring.erasure import build_command_erasures
from tidings.erasure.model import Erasure, ErasureStep
from tidings.erasure.store import DynamoErasureStore
from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import ChatKey, UserId
from tidings.messages.store import KafkaCommitPublisher
from tidings.platform.kafka.config import KafkaConfig
from tidings.platform.kafka.publisher import KafkaPublisher

VICTIM, SECRET = UserId("victim-of-kills"), "the-secret-of-the-victim"
KEPT = {"users", "user_keys", "erasures", "tenants", "inbox"}
KILLS = (
    "erasure.fence",
    "erasure.keys",
    ErasureStep.QUIET,
    "erasure.chat_left",
    ErasureStep.SETTLED,
    "erasure.membership_moved",
    "erasure.profile",
)
"""Where workers are killed: at failpoints, and while they wait in a step."""
LATER_S = 400
"""By how much the clock of each worker is ahead of the one before: longer than a step waits, and than a check of a job."""


async def planted(use_cases: UseCaseEnv) -> ChatKey:
    users = UserService(
        DynamoUserStore(use_cases.client, use_cases.ring, use_cases.user_keys), use_cases.clock
    )
    await users.create(use_cases.tenant, VICTIM, display_name=SECRET)
    chat = await use_cases.manage.group(use_cases.tenant, by(BEN), "us", [VICTIM, CLEO])
    direct = await use_cases.manage.direct(use_cases.tenant, VICTIM, BEN)
    for each in (chat, direct):
        await use_cases.send(each, VICTIM, SECRET, after=None)
        await use_cases.send(each, BEN, "from ben", after=None)
    return chat


async def stored(store: DynamoErasureStore, use_cases: UseCaseEnv, step: ErasureStep) -> Erasure:
    """Wait until the erasure has reached a step."""
    async with asyncio.timeout(120):
        while True:
            found = await store.read(use_cases.tenant, VICTIM)
            if found is not None and found.step is step:
                return found
            await asyncio.sleep(0.2)


@pytest.mark.long
@pytest.mark.deadline(400.0)
async def test_an_erasure_survives_kills_at_one_step_after_the_other(
    installation: InstallationProcesses,
) -> None:
    config = KafkaConfig(bootstrap_servers=installation.kafka, topic_prefix=installation.space.topic_prefix)
    publisher, tables = KafkaPublisher(config), installation.tables
    async with installation.use_cases() as use_cases:
        use_cases.on_commit = KafkaCommitPublisher(publisher).publish
        use_cases.open_process()
        # The relay publishes the leave of a worker that is killed before it has done so.
        installation.ready("delivery", "relay")
        chat = await planted(use_cases)
        assert "messages" in items_with(tables.url, tables.prefix, VICTIM)
        erasures = build_command_erasures(Settings(), use_cases.client, SystemClock(), use_cases.ring)
        await erasures.request(use_cases.tenant, VICTIM, "operator:test")
        store = DynamoErasureStore(use_cases.client)
        for number, place in enumerate(KILLS):
            worker = installation.run("notifications", FAILPOINTS_CLOCK_OFFSET_S=str(number * LATER_S))
            if isinstance(place, ErasureStep):
                await stored(store, use_cases, place)
            else:
                worker.hold(place)
                await worker.reached(place)
            worker.popen.kill()
            assert worker.exit_code() == -signal.SIGKILL
        installation.ready("notifications", FAILPOINTS_CLOCK_OFFSET_S=str(len(KILLS) * LATER_S))
        found = await stored(store, use_cases, ErasureStep.FINAL)
        entries = await use_cases.entries(chat)
        assert [entry.sequence for entry in entries] == list(range(1, len(entries) + 1))
    await publisher.close()
    assert items_with(tables.url, tables.prefix, SECRET) == {}
    assert set(items_with(tables.url, tables.prefix, VICTIM)) <= KEPT
    assert found.counts["messages"] == 2
