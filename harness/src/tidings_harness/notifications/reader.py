"""A user with a device on the SDK's client. It reads the inbox, marks notifications and records pushes."""

import asyncio
import random
import time
from typing import Final, final

from msgspec.structs import replace

from tidings_harness.notifications.history import (
    Action,
    ActionOutcome,
    InboxRead,
    Journal,
    PushReceived,
    SeenNotification,
)
from tidings_harness.workload.target import TargetInstallation
from tidings_sdk import (
    BroadcastUpdate,
    Client,
    ConnectionStateChanged,
    Inbox,
    MemoryStore,
    RequestRefused,
    TidingsError,
    Timeouts,
)
from tidings_sdk.errors import ClientStopped
from tidings_sdk.protocol import State

_TIMEOUTS: Final = Timeouts(backoff_first_s=0.05, backoff_longest_s=1.0)
_PAGE: Final = 50
_LIVE_TIMEOUT_S: Final = 60.0


@final
class InboxUser:
    def __init__(self, site: TargetInstallation, journal: Journal, user: str, inbox: str) -> None:
        self.user = user
        self.marks_all = 0.02
        self._journal = journal
        self._connection = 0
        self._ids: dict[int, str] = {}
        self._unread: list[int] = []

        async def token() -> str:
            return site.token(user)

        self._client = Client(
            site.next_socket(), token, store=MemoryStore(), device="sdk", proxy=None, patience=_TIMEOUTS
        )
        self._name = inbox
        self._listening: asyncio.Task[None] | None = None

    @property
    def _inbox(self) -> Inbox:
        return self._client.inbox(self._name)

    async def start(self) -> None:
        await self._client.__aenter__()
        self._listening = asyncio.create_task(self._listen())
        async with asyncio.timeout(_LIVE_TIMEOUT_S):
            while self._client.state is not State.LIVE:  # noqa: ASYNC110 - the SDK reports it to the reader of events only
                await asyncio.sleep(0.02)
        self.note(await self.read_inbox())

    async def stop(self) -> None:
        await self._client.close()
        if self._listening is not None:
            await asyncio.gather(self._listening, return_exceptions=True)

    async def act(self) -> None:
        """Read the list in most cases, sometimes mark one notification, and rarely mark all."""
        chance = random.random()  # noqa: S311 - spreads load
        if chance < 0.15 and self._unread:  # noqa: PLR2004 - a share
            await self._mark(random.choice(self._unread))  # noqa: S311 - no secret
        elif chance < 0.15 + self.marks_all:
            await self._mark_all()
        else:
            self.note(await self.read_inbox())

    async def read_inbox(self) -> InboxRead:
        """Read the complete list, page by page."""
        counts = self._inbox.counts
        at_least = counts.broadcasts_up_to if counts else 0
        begun, seen, cursor, first = time.monotonic_ns(), list[SeenNotification](), None, None
        while first is None or cursor is not None:
            page = await self._inbox.list(limit=_PAGE, cursor=cursor)
            first, cursor = first or page, page.cursor
            for notification in page.notifications:
                number = int(notification.message["number"])
                self._ids[number] = notification.id
                seen.append(SeenNotification(number, notification.is_read))
        self._unread = [each.number for each in seen if not each.is_read]
        return InboxRead(
            user=self.user,
            begun_ns=begun,
            ended_ns=time.monotonic_ns(),
            seen=tuple(seen),
            unread=first.counts.unread,
            up_to=first.counts.broadcasts_up_to,
            at_least=at_least,
        )

    def note(self, look: InboxRead, *, is_last: bool = False) -> None:
        self._journal.note(replace(look, is_last=is_last))

    async def _mark(self, number: int) -> None:
        begun = self._journal.begin(Action.READ, [self.user], [number])
        await self._marked(begun, [self._ids[number]])

    async def _mark_all(self) -> None:
        await self._marked(self._journal.begin(Action.READ_ALL, [self.user]), None)

    async def _marked(self, begun: int, ids: list[str] | None) -> None:
        outcome = ActionOutcome.UNKNOWN
        try:
            await (self._inbox.mark_all_read() if ids is None else self._inbox.mark_read(ids))
            outcome = ActionOutcome.OK
        except RequestRefused as refusal:
            outcome = ActionOutcome.UNKNOWN if refusal.body.retryable else ActionOutcome.FAILED
        except TidingsError:
            outcome = ActionOutcome.UNKNOWN
        self._journal.end(begun, outcome)

    async def _listen(self) -> None:
        try:
            async for event in self._client.events():
                match event:
                    case ConnectionStateChanged(state=State.LIVE):
                        self._connection += 1
                    case BroadcastUpdate():
                        self._heard(event)
                    case _:
                        pass
        except ClientStopped:
            return  # The checker reports entries that are missing at the end.

    def _heard(self, update: BroadcastUpdate) -> None:
        for notification in update.added:
            number = int(notification.message["number"])
            self._journal.note(PushReceived(user=self.user, connection=self._connection, number=number))
