"""Show an inbox and its changes: show_inbox.py URL, with the token in TIDINGS_TOKEN."""

import asyncio
import os
import sys

from tidings_sdk import BroadcastUpdate, Client, Inbox, InboxUpdate, Notification


async def main(url: str) -> None:
    async with Client(url, os.environ["TIDINGS_TOKEN"]) as client:
        inbox = client.inbox("default")
        shown = await read(inbox)
        drawn = draw(inbox, shown)
        async for event in client.events():
            if isinstance(event, InboxUpdate) and event.counts.inbox == inbox.id:
                shown = await follow(inbox, shown, event)
            elif isinstance(event, BroadcastUpdate) and event.inbox == inbox.id:
                shown = await read(inbox)
            drawn = draw(inbox, shown, drawn)


async def read(inbox: Inbox) -> dict[str, Notification]:
    return {notification.id: notification for notification in (await inbox.list(limit=20)).notifications}


async def follow(
    inbox: Inbox, shown: dict[str, Notification], update: InboxUpdate
) -> dict[str, Notification]:
    shown = shown | {notification.id: notification for notification in (*update.added, *update.amended)}
    shown = {name: notification for name, notification in shown.items() if name not in update.removed}
    # The counts can be newer than the list, for example after a broadcast.
    is_complete = update.added or update.amended or update.removed
    if update.has_more or not is_complete or unread(shown) != update.counts.unread:
        return await read(inbox)
    return shown


def unread(shown: dict[str, Notification]) -> int:
    return sum(not notification.is_read for notification in shown.values())


def draw(inbox: Inbox, shown: dict[str, Notification], drawn: str = "") -> str:
    """Print the inbox if it has changed, and return the text."""
    counted, here = inbox.counts.unread if inbox.counts else 0, unread(shown)
    head = f"unread: {counted}" if counted == here else f"unread: {counted}, {here} of them in this list"
    newest_first = [notification for _, notification in sorted(shown.items(), reverse=True)]
    rows = [
        f"{' ' if notification.is_read else '*'} {notification.message.get('title')}"
        for notification in newest_first
    ]
    text = "\n".join([head, *rows])
    if text != drawn:
        print(text, flush=True)
    return text


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
