"""Shows an inbox and follows it: show_inbox.py URL, with the token in TIDINGS_TOKEN."""

import asyncio
import os
import sys

from tidings_sdk import BroadcastNews, Client, Inbox, InboxNews, Notice


async def main(url: str) -> None:
    async with Client(url, os.environ["TIDINGS_TOKEN"]) as client:
        inbox = client.inbox("default")
        shown = await read(inbox)
        draw(inbox, shown)
        async for event in client.events():
            if isinstance(event, InboxNews) and event.counts.inbox == inbox.id:
                shown = await follow(inbox, shown, event)
                draw(inbox, shown)
            elif isinstance(event, BroadcastNews) and event.inbox == inbox.id:
                shown = await read(inbox)
                draw(inbox, shown)


async def read(inbox: Inbox) -> dict[str, Notice]:
    return {notice.id: notice for notice in (await inbox.list(limit=20)).notices}


async def follow(inbox: Inbox, shown: dict[str, Notice], news: InboxNews) -> dict[str, Notice]:
    named = (*news.added, *news.amended)
    if news.has_more or not (named or news.gone):
        return await read(inbox)
    shown = shown | {notice.id: notice for notice in named}
    return {name: notice for name, notice in shown.items() if name not in news.gone}


def draw(inbox: Inbox, shown: dict[str, Notice]) -> None:
    newest_first = [notice for _, notice in sorted(shown.items(), reverse=True)]
    rows = [f"{' ' if notice.is_read else '*'} {notice.message.get('title')}" for notice in newest_first]
    print(f"unread: {inbox.counts.unread if inbox.counts else 0}", *rows, sep="\n", flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
