"""Send one message and exit: send_one.py URL CHAT TEXT, with the token in TIDINGS_TOKEN."""

import asyncio
import os
import sys

from tidings_sdk import Client


async def main(url: str, chat: str, text: str) -> None:
    async with Client(url, os.environ["TIDINGS_TOKEN"]) as client:
        sent = await client.chat(chat).send(text)
        print(f"{chat}.{sent.sequence}")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:4]))
