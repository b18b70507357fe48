"""Repeat the messages of other users: echo_bot.py URL OUTBOX, with the token in TIDINGS_TOKEN.

With a new outbox, the bot ignores messages from before its first start. It answers messages that it missed while it was
not running. The outbox is a file: after a crash, the bot sends the unsent messages, and none twice.
"""

import asyncio
import os
import sys

from tidings_sdk import Client, ConnectionStateChanged, FileStore, MessageAdded, MessageSendFailed


async def main(url: str, outbox: str) -> None:
    async with Client(url, os.environ["TIDINGS_TOKEN"], store=FileStore(outbox)) as client:
        async for event in client.events(live_only=True):
            match event:
                case MessageAdded(chat, entry) if entry.by != client.user and entry.text:
                    _ = client.chat(chat).send(entry.text, reply_to=entry.sequence)
                case MessageSendFailed(chat, _, error):
                    print(f"not sent to {chat}: {error}")
                case ConnectionStateChanged(state):
                    print(state)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:3]))
