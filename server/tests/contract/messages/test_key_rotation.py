"""Keys of users and of the tenant rotate while users send, retry and read in several processes."""

import asyncio

from fixtures.use_cases import ANNA, BEN, UseCaseEnv

from tidings.kernel.ids import ChatKey, UserId
from tidings.tenants.sealing import version_of
from tidings.tenants.store import DynamoUserKeyStore

PROCESSES, MESSAGES, ROTATIONS = 3, 30, 5
USERS = (ANNA, BEN)


def started(use_cases: UseCaseEnv) -> UseCaseEnv:
    """Start another process of the installation. It has its own cache of keys."""
    return UseCaseEnv(use_cases.client, use_cases.tenant, use_cases.key_file)


async def send_and_retry(process: UseCaseEnv, chat: ChatKey, user: UserId, text: str) -> dict[int, str]:
    """Send a message twice with one key, which must return one sequence. Return the text by sequence."""
    sent = await process.send(chat, user, text, text)
    retried = await process.send(chat, user, text, text)
    assert retried.sequence == sent.sequence
    return {sent.sequence: text}


async def talk(process: UseCaseEnv, chat: ChatKey, user: UserId, number: int) -> dict[int, str]:
    texts: dict[int, str] = {}
    for message in range(MESSAGES):
        texts |= await send_and_retry(process, chat, user, f"{user}.{number}.{message}")
        if message % 10 == 0:
            await process.history.before(chat, BEN, None, 100)
    return texts


async def rotate(process: UseCaseEnv, chat: ChatKey) -> dict[int, str]:
    """Rotate all keys repeatedly, and send a message with each new version."""
    texts: dict[int, str] = {}
    for number in range(ROTATIONS):
        for user in USERS:
            await process.user_keys.rotate(process.tenant, user)
            texts |= await send_and_retry(process, chat, user, f"{user}.rotated.{number}")
        await process.ring.rotate(process.tenant)
    return texts


async def read_all(process: UseCaseEnv, chat: ChatKey) -> dict[int, str]:
    texts: dict[int, str] = {}
    before: int | None = None
    while before is None or before > 1:
        page = await process.history.before(chat, BEN, before, 100)
        texts |= {shown.entry.sequence: shown.content.text for shown in page.entries if shown.content}
        before = min(shown.entry.sequence for shown in page.entries)
    return texts


async def test_nothing_is_unreadable_or_stored_twice_while_keys_rotate(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(BEN)
    processes = [started(use_cases) for _ in range(PROCESSES)]
    talks = [talk(process, chat, user, n) for n, process in enumerate(processes) for user in USERS]
    found = await asyncio.gather(*talks, rotate(started(use_cases), chat))
    texts = {sequence: text for each in found for sequence, text in each.items()}
    assert len(texts) == len(USERS) * (PROCESSES * MESSAGES + ROTATIONS)
    for process in (*processes, started(use_cases)):
        assert await read_all(process, chat) == texts
    entries = await use_cases.reader.range(chat, 0, max(texts), len(texts) + 1, newest_first=False)
    versions = {version_of(entry.content) for entry in entries if entry.content}
    rows = await DynamoUserKeyStore(use_cases.client).read(chat.tenant, USERS, is_strong=True)
    newest = {len(row.wrapped) for row in rows.values()}
    assert max(versions) == max(newest) >= ROTATIONS, "users sent with the newest version"
    assert len(versions) > ROTATIONS // 2
