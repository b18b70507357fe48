"""SENT, DELIVERED, READ of messages, and who: derived from members' watermarks, never stored.

In a large chat nobody is counted: the tick stays SENT, and says so.
"""

from collections.abc import Mapping, Sequence

from tidings.chats.model import Membership, may_see
from tidings.delivery.model import Row, Status, Tick
from tidings.delivery.ports import Audience, Watermarks
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, UserId
from tidings.messages.model import Entry


class Statuses:
    def __init__(self, audience: Audience, watermarks: Watermarks) -> None:
        self._audience = audience
        self._watermarks = watermarks

    async def of(self, chat: ChatKey, user: UserId, messages: Sequence[Entry]) -> list[Status]:
        """Of a page of messages with one read of the members and one of their rows, whatever its length."""
        if not messages:
            return []
        crowd = await self._audience.of(chat, max(message.sequence for message in messages))
        if crowd.large_since is not None:
            return [Status(sequence=m.sequence, tick=Tick.SENT, is_counted=False) for m in messages]
        asker = next((member for member in crowd.members if member.user == user), None)
        if asker is None or not all(may_see(asker.intervals, m.sequence) for m in messages):
            raise TidingsError(Code.MESSAGE_NOT_FOUND, "There is no such message for this user.")
        rows = await self._watermarks.rows_of(chat, [member.user for member in crowd.members])
        return [status(message, crowd.members, rows) for message in messages]


def status(message: Entry, members: Sequence[Membership], rows: Mapping[UserId, Row]) -> Status:
    """READ once everybody has read it whom it was for and who is still there; DELIVERED likewise."""
    n = message.sequence
    got = [m for m in members if m.user != message.sender and may_see(m.intervals, n)]
    read = {m.user for m in got if read_up_to(rows.get(m.user)) >= n}
    delivered = {m.user for m in got if delivered_up_to(rows.get(m.user)) >= n}
    staying = {m.user for m in got if m.is_member}
    tick = Tick.READ if staying <= read else Tick.DELIVERED if staying <= delivered else Tick.SENT
    return Status(
        sequence=n,
        tick=tick if staying else Tick.SENT,
        delivered_to=tuple(sorted(delivered)),
        read_by=tuple(sorted(read)),
    )


def read_up_to(row: Row | None) -> int:
    """Who writes has read what stands above: unread says the same."""
    if row is None:
        return 0
    return max((mark.sequence for mark in (row.read, row.known.own) if mark), default=0)


def delivered_up_to(row: Row | None) -> int:
    delivered = row.delivered.sequence if row is not None and row.delivered else 0
    return max(delivered, read_up_to(row))
