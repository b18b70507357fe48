"""What the client asks of a store. Calls return when what they did is there to stay, as far as the store can."""

from dataclasses import dataclass, field
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from tidings_wire.frames.history import ChatRow
from tidings_wire.frames.messages import Edit, React, Redact, Send


@dataclass(frozen=True, slots=True)
class StoreOwner:
    """Whose outbox it is, as the server said; and of which epoch the positions are."""

    user: str
    device: str
    epoch: int


@dataclass(frozen=True, slots=True)
class StoredState:
    """`rows` in the order in which they were added."""

    owner: StoreOwner | None = None
    rows: list["OutboxEntry"] = field(default_factory=list)
    positions: dict[str, int] = field(default_factory=dict)
    chats: list[ChatRow] = field(default_factory=list)


class Store(Protocol):
    def load(self) -> StoredState: ...

    def own(self, owner: StoreOwner) -> None:
        """Another epoch than before: positions and the chat list are gone with it, in one step."""

    def add(self, row: "OutboxEntry") -> None:
        """After all rows that are there."""

    def change(self, row: "OutboxEntry") -> None:
        """The row with this chat and key, at its place."""

    def drop(self, chat: str, key: str) -> None: ...

    def save_positions(self, positions: dict[str, int]) -> None:
        """Those that moved. If they are lost in a crash, events are given again, none is left out."""

    def save_chats(self, changed: dict[str, ChatRow | None]) -> None:
        """Rows of the chat list that changed; None: the chat is not in it any more."""

    def close(self) -> None: ...


type Request = Send | Edit | Redact | React


class OutboxEntry(Struct, frozen=True):
    """`epoch` is that of `after`."""

    request: Request
    epoch: int | None = None

    @property
    def chat(self) -> str:
        return self.request.chat

    @property
    def key(self) -> str:
        return self.request.client_message_id

    def sent_after(self, after: int, epoch: int) -> "OutboxEntry":
        return OutboxEntry(replace(self.request, after=after), epoch)
