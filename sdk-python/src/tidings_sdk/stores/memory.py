"""A store in memory, for tests and short-lived tools."""

from typing import final

from tidings_sdk.stores.store import OutboxEntry, StoredState, StoreOwner
from tidings_wire.frames.history import ChatRow


@final
class MemoryStore:
    """A store that ends with the process. Pass the same object to the next client to keep its content."""

    def __init__(self) -> None:
        self._owner: StoreOwner | None = None
        self._rows: dict[tuple[str, str], OutboxEntry] = {}
        self._positions: dict[str, int] = {}
        self._chats: dict[str, ChatRow] = {}

    def load(self) -> StoredState:
        return StoredState(
            self._owner, list(self._rows.values()), dict(self._positions), list(self._chats.values())
        )

    def own(self, owner: StoreOwner) -> None:
        if self._owner is not None and self._owner.epoch != owner.epoch:
            self._positions.clear()
            self._chats.clear()
        self._owner = owner

    def add(self, row: OutboxEntry) -> None:
        self._rows[row.chat, row.key] = row

    def change(self, row: OutboxEntry) -> None:
        self._rows[row.chat, row.key] = row

    def drop(self, chat: str, key: str) -> None:
        self._rows.pop((chat, key), None)

    def save_positions(self, positions: dict[str, int]) -> None:
        self._positions.update(positions)

    def save_chats(self, changed: dict[str, ChatRow | None]) -> None:
        self._chats.update({chat: row for chat, row in changed.items() if row is not None})
        for chat in [chat for chat, row in changed.items() if row is None]:
            self._chats.pop(chat, None)

    def close(self) -> None:
        """Do nothing: there is no file to close."""
