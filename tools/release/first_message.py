"""Send a message from Anna to Ben with the installed SDK. The trial of a release runs this file with the new Python.

It imports only the installed package.
"""

import asyncio

from tidings_sdk import Client, MessageAdded, dev

_TEXT = "Sent by the installed release."
_ANSWER_S = 60.0


async def main() -> None:
    async with asyncio.timeout(_ANSWER_S), Client.from_dev("anna") as anna, Client.from_dev("ben") as ben:
        sent = await anna.chat(dev.chat_id("direct")).send(_TEXT)
        async for event in ben.events():
            if isinstance(event, MessageAdded) and event.entry.sequence == sent.sequence:
                print(event.entry.text)
                return


if __name__ == "__main__":
    asyncio.run(main())
