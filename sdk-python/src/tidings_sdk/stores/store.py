"""The interface of a store. Each call returns after its change is durable, as far as the store supports it."""

from dataclasses import dataclass, field
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from tidings_wire.frames.history import ChatRow
from tidings_wire.frames.messages import Edit, React, Redact, Send


@dataclass(frozen=True, slots=True)
class StoreOwner:
    """The user and device of the store, as the server reported them, and the epoch of the positions."""

    user: str
    device: str
    epoch: int


@dataclass(frozen=True, slots=True)
class StoredState:
    """The content of a store. `rows` are in the order of `add`."""

    owner: StoreOwner | None = None
    rows: list["OutboxEntry"] = field(default_factory=list)
    positions: dict[str, int] = field(default_factory=dict)
    chats: list[ChatRow] = field(default_factory=list)


class Store(Protocol):
    def load(self) -> StoredState: ...

    def own(self, owner: StoreOwner) -> None:
        """Set the owner. If the epoch changes, delete positions and the chat list atomically with it."""

    def add(self, row: "OutboxEntry") -> None:
        """Add a row after all others."""

    def change(self, row: "OutboxEntry") -> None:
        """Replace the row with the same chat and key. Its place in the order stays."""

    def drop(self, chat: str, key: str) -> None: ...

    def save_positions(self, positions: dict[str, int]) -> None:
        """Store positions that moved. If a crash loses them, entries are delivered again, and none is skipped."""

    def save_chats(self, changed: dict[str, ChatRow | None]) -> None:
        """Store the changed rows of the chat list. None deletes a row."""

    def close(self) -> None: ...


type Request = Send | Edit | Redact | React


class OutboxEntry(Struct, frozen=True):
    """A request in the outbox. `epoch` is the epoch of its `after`."""

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
