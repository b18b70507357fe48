"""Large chats: their channel is listened to once in a process, for as long as one of its devices is in the chat."""

import asyncio
from typing import Protocol, final

from tidings.gateway.seat import Seat
from tidings.kernel.ids import ChatId, ChatKey
from tidings.routing.ports import Ears, Heard, Listening, Lost, RoutesAwayError, Standing


class Room:
    """`opening` is done when the channel is confirmed; who enters waits for it."""

    def __init__(self, key: ChatKey) -> None:
        self.key = key
        self.seats: dict[Seat, None] = {}
        self.listening: Listening | None = None
        self.opening: asyncio.Task[None] | None = None


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

    async def enter(self, seat: Seat, chat: ChatId) -> None:
        """Returns when everything is heard that is said from now on. Raises `RoutesAwayError`; then nothing is."""
        key = seat.chat(chat)
        room = self._rooms.get(key)
        if room is None:
            room = self._rooms[key] = Room(key)
        room.seats[seat] = None
        seat.rooms[chat] = None
        if room.opening is None:
            room.opening = asyncio.get_running_loop().create_task(self._open(room))
        try:
            await asyncio.shield(room.opening)
        except RoutesAwayError:
            self.leave(seat, chat)
            raise
        if seat.is_gone:
            self.leave(seat, chat)

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
            self._close(room)

    async def _open(self, room: Room) -> None:
        try:
            room.listening = await self._ears.at_chat(room.key, lambda heard: self._hear(room, heard))
        except BaseException:
            self._forget(room)
            raise
        if not room.seats:
            self._close(room)

    def _close(self, room: Room) -> None:
        """One that is being opened closes itself when it stands: a channel has one listener at a time."""
        if room.listening is not None:
            room.listening.close()
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
