"""Append messages to the log of a chat: python seed.py TENANT CHAT USER COUNT, in the directory of `tidings dev`.

It calls the server's use case in this process. A request over REST has no position in the log, so the server cannot
append several of them in one write.
"""

import argparse
import asyncio
from typing import NamedTuple

from tidings.app.settings.loader import load
from tidings.app.wiring.chats import build_chat_row_reader, build_chat_services, build_chat_store
from tidings.app.wiring.delivery import open_publisher
from tidings.app.wiring.engine_clients import make_user_key_ring, open_key_ring, open_tables, read_epoch
from tidings.chats.model import MemberStatus
from tidings.chats.queries import DirectChatCache
from tidings.delivery.store import DynamoChatRowReader
from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import ChatId, ChatKey, ClientKey, TenantId, UserId
from tidings.messages.sender import Content, MessageSender
from tidings.messages.store.publisher import KafkaCommitPublisher

IN_FLIGHT = 500
POLL_S = 0.2


class Target(NamedTuple):
    chat: ChatKey
    user: UserId


async def seed(target: Target, count: int) -> None:
    """Send `message 1` to `message <count>` in this order, and wait until they are delivered."""
    settings, clock = load().settings, SystemClock()
    async with (
        open_tables(settings.dynamo) as client,
        open_key_ring(settings, client, clock) as ring,
        open_publisher(settings) as publisher,
    ):
        epoch = await read_epoch(client, clock)
        services = build_chat_services(
            client,
            make_user_key_ring(settings, client, ring, clock),
            clock,
            KafkaCommitPublisher(publisher).publish,
            DirectChatCache(build_chat_store(client, clock, epoch)).intervals,
            epoch=epoch,
        )
        last = await send_all(services.sender, target, count)
        await wait_delivered(build_chat_row_reader(client, epoch), target, last)


async def send_all(sender: MessageSender[MemberStatus], target: Target, count: int) -> int:
    """Send in groups, each after the last sequence of the one before. Return the sequence of the last message."""
    after = 1
    for first in range(1, count + 1, IN_FLIGHT):
        group = range(first, min(first + IN_FLIGHT, count + 1))
        sends = [
            sender.send(*target, ClientKey(f"seed-{number}"), Content(text=f"message {number}"), after=after)
            for number in group
        ]
        after = max(sent.sequence for sent in await asyncio.gather(*sends))
    return after


async def wait_delivered(rows: DynamoChatRowReader, target: Target, sequence: int) -> None:
    """Wait until the sender's row of the chat list has the last message: the worker has processed all before it."""
    while True:
        for row in await rows.rows(target.chat.tenant, target.user):
            head = row.known.head
            if row.chat == target.chat.chat and head is not None and head.sequence >= sequence:
                return
        await asyncio.sleep(POLL_S)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("tenant", "chat", "user"):
        parser.add_argument(name)
    parser.add_argument("count", type=int)
    given = parser.parse_args()
    chat = ChatKey(TenantId(given.tenant), ChatId(given.chat))
    asyncio.run(seed(Target(chat, UserId(given.user)), given.count))


if __name__ == "__main__":
    main()
