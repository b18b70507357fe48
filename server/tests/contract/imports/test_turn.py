"""Two imports into one tenant: one waits for a killed one, and one that was suspended writes nothing more."""

import asyncio
from dataclasses import replace

from contract.imports.test_import import chat_lines, deps_of, group_key, header, run, stored
from fixtures.use_cases import ANNA, BEN, UseCaseEnv, asked, code_of

from tidings.chats.model import ImportState
from tidings.imports.ports import ImportChats, ImportDeps
from tidings.imports.store.lease import DynamoImportLease
from tidings.imports.turn import RENEW_S, ImportTurn
from tidings.kernel.errors import Code
from tidings.kernel.ids import TenantId, new_ulid
from tidings.messages.history import ContentState

LEASE_S = 1.0
RENEW_MS = int(RENEW_S * 1000)


def ignore() -> None:
    """Do nothing while an import waits."""


def turn_of(use_cases: UseCaseEnv) -> ImportTurn:
    lease = DynamoImportLease(use_cases.client, use_cases.clock, use_cases.tenant, new_ulid())
    return ImportTurn(lease, use_cases.clock, lease_s=LEASE_S)


async def test_an_import_is_refused_while_another_one_renews_its_lease(use_cases: UseCaseEnv) -> None:
    first = turn_of(use_cases)
    await first.begin(ignore)
    second = asyncio.create_task(code_of(turn_of(use_cases).begin(ignore)))
    while not second.done():
        use_cases.clock.ahead_ms += RENEW_MS
        await first.keep()
        await asyncio.sleep(0.1)
    assert await second is Code.STILL_RUNNING
    await first.end()
    await turn_of(use_cases).begin(ignore)


async def test_an_import_begins_when_the_lease_of_a_killed_one_has_ended(use_cases: UseCaseEnv) -> None:
    killed, next_one = turn_of(use_cases), turn_of(use_cases)
    await killed.begin(ignore)
    began, waits = use_cases.clock.monotonic(), list[str]()
    await next_one.begin(lambda: waits.append("waits"))
    assert waits == ["waits"]
    assert use_cases.clock.monotonic() - began >= LEASE_S
    use_cases.clock.ahead_ms += RENEW_MS
    assert await code_of(killed.keep()) is Code.STILL_RUNNING
    assert await code_of(killed.keep()) is Code.STILL_RUNNING, "what was lost is not taken again"
    await killed.end()
    await next_one.keep()
    assert await code_of(killed.keep()) is Code.STILL_RUNNING


async def test_other_tenants_are_imported_at_the_same_time(use_cases: UseCaseEnv) -> None:
    await turn_of(use_cases).begin(ignore)
    other = TenantId(f"{use_cases.tenant}-2")
    lease = DynamoImportLease(use_cases.client, use_cases.clock, other, new_ulid())
    assert (await lease.take()).is_ours


class SuspendedAfterClaim:
    """Holds the import after it has claimed its chat, like a machine that is suspended."""

    def __init__(self, chats: ImportChats) -> None:
        self._chats = chats
        self.open, self.add_member, self.finish = chats.open, chats.add_member, chats.finish
        self.claimed, self.awake = asyncio.Event(), asyncio.Event()

    async def claim(self, *args: object) -> ImportState:
        found = await self._chats.claim(*args)  # type: ignore[arg-type]
        self.claimed.set()
        await self.awake.wait()
        return found


async def test_a_suspended_import_does_not_restore_what_a_member_has_redacted(use_cases: UseCaseEnv) -> None:
    lines, chat = [*header(), *chat_lines("C1", 3)], group_key(use_cases, "C1")
    slow = with_short_lease(use_cases)
    chats = SuspendedAfterClaim(slow.chats)
    suspended = asyncio.create_task(code_of(run(use_cases, lines, replace(slow, chats=chats))))
    await chats.claimed.wait()
    done = await run(use_cases, lines, with_short_lease(use_cases))
    assert done.chats == 1
    await use_cases.change.redact(asked(chat, ANNA, 2))
    before = await stored(use_cases, chat)
    use_cases.clock.ahead_ms += RENEW_MS
    chats.awake.set()
    assert await suspended is Code.STILL_RUNNING
    assert await stored(use_cases, chat) == before
    assert (await use_cases.history.one(chat, BEN, 2)).state is ContentState.REDACTED


def with_short_lease(use_cases: UseCaseEnv) -> ImportDeps:
    return replace(deps_of(use_cases), turn=turn_of(use_cases))
