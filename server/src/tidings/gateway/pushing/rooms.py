"""Large chats: their channel is listened to once in a process, for as long as one of its devices is in the chat."""

import asyncio
from typing import Final, Protocol, final

from tidings.gateway.seat import Seat
from tidings.gateway.shares import aside
from tidings.kernel.ids import ChatId, ChatKey
from tidings.routing.ports import Ears, Heard, Listening, Lost, RoutesAwayError, Standing

CONFIRMED_WITHIN_S: Final = 0.2
"""Devices wait this long for a channel to be confirmed; then they go on, and are compared once it is."""
_RETRY_S: Final = 1.0


class Room:
    """A large chat with the devices that listen to it. `opening` is done when the channel is confirmed.

    `is_late`: a device went on without the confirmation and may miss what is published before it. Nobody waits for this
    channel again. Other channels may be on shards of Redis that answer, so each is waited for by itself.
    """

    def __init__(self, key: ChatKey) -> None:
        self.key = key
        self.seats: dict[Seat, None] = {}
        self.listening: Listening | None = None
        self.opening: asyncio.Task[None] | None = None
        self.is_late = False


class Heeding(Protocol):
    def said(self, room: Room, payload: bytes, /) -> None:
        """On the chat's channel."""
        ...

    def missed(self, room: Room, /) -> None:
        """The channel was lost and stands again: what was said meanwhile is to be read."""
        ...


@final
class Rooms:
    def __init__(self, ears: Ears, heeding: Heeding) -> None:
        self._ears = ears
        self._heeding = heeding
        self._rooms: dict[ChatKey, Room] = {}

    def __len__(self) -> int:
        return len(self._rooms)

    def is_heard(self, key: ChatKey) -> bool:
        """Whether the chat's channel was confirmed; it may be lost since, and then comes back by itself."""
        room = self._rooms.get(key)
        return room is not None and room.listening is not None

    async def enter(self, seat: Seat, chat: ChatId) -> bool:
        """Listen to the chat's channel. True: everything that is published from now on is heard.

        Where Redis does not confirm the channel soon, the device goes on without it: connecting must not wait for
        Redis. When the channel is confirmed later, `missed` has the devices compared with the chat's head.
        """
        key = seat.chat(chat)
        room = self._rooms.get(key)
        if room is None:
            room = self._rooms[key] = Room(key)
        room.seats[seat] = None
        seat.rooms[chat] = None
        if room.opening is None:
            room.opening = asyncio.get_running_loop().create_task(self._open(room))
        await self._wait(room, room.opening)
        is_heard = room.listening is not None
        if seat.is_gone:
            self.leave(seat, chat)
        return is_heard

    def leave(self, seat: Seat, chat: ChatId) -> None:
        seat.rooms.pop(chat, None)
        room = self._rooms.get(seat.chat(chat))
        if room is None or seat not in room.seats:
            return
        del room.seats[seat]
        if not room.seats:
            self._close(room)

    def leave_all(self, seat: Seat) -> None:
        for chat in list(seat.rooms):
            self.leave(seat, chat)

    def close(self) -> None:
        for room in list(self._rooms.values()):
            if room.opening is not None:
                room.opening.cancel()
            self._close(room)

    async def _wait(self, room: Room, opening: asyncio.Task[None]) -> None:
        if not opening.done():
            async with aside():
                await asyncio.wait([opening], timeout=0 if room.is_late else CONFIRMED_WITHIN_S)
        if opening.done():
            opening.result()
        else:
            room.is_late = True

    async def _open(self, room: Room) -> None:
        """Try until the channel is confirmed or nobody wants it any more."""
        try:
            room.listening = await self._listen(room)
        except BaseException:
            self._forget(room)
            raise
        if not room.seats:
            self._close(room)
        elif room.is_late:
            self._heeding.missed(room)

    async def _listen(self, room: Room) -> Listening | None:
        while room.seats:
            try:
                listening = await self._ears.at_chat(room.key, lambda heard: self._hear(room, heard))
            except RoutesAwayError:
                room.is_late = True
                await asyncio.sleep(_RETRY_S)
            else:
                return listening
        return None

    def _close(self, room: Room) -> None:
        """One that is being opened closes itself when it stands: a channel has one listener at a time."""
        if room.listening is not None:
            room.listening.close()
        if room.opening is None or room.opening.done() or room.opening is asyncio.current_task():
            self._forget(room)

    def _forget(self, room: Room) -> None:
        if self._rooms.get(room.key) is room:
            del self._rooms[room.key]

    def _hear(self, room: Room, heard: Heard) -> None:
        match heard:
            case Standing(was_lost=True):
                self._heeding.missed(room)
            case Standing() | Lost():
                pass
            case payload:
                self._heeding.said(room, payload)
