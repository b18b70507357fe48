"""What the client asks of a store. Calls return when what they did is there to stay, as far as the store can."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from tidings_sdk.frames.reading import ChatRow

if TYPE_CHECKING:
    from tidings_sdk.outbox import Row


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose outbox it is, as the server said; and of which epoch the positions are."""

    user: str
    device: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Kept:
    """`rows` in the order in which they were added."""

    owner: Owner | None = None
    rows: list["Row"] = field(default_factory=list)
    positions: dict[str, int] = field(default_factory=dict)
    chats: list[ChatRow] = field(default_factory=list)


class Store(Protocol):
    def load(self) -> Kept: ...

    def own(self, owner: Owner) -> None:
        """Another epoch than before: positions and the chat list are gone with it, in one step."""

    def add(self, row: "Row") -> None:
        """After all rows that are there."""

    def change(self, row: "Row") -> None:
        """The row with this chat and key, at its place."""

    def drop(self, chat: str, key: str) -> None: ...

    def keep_positions(self, positions: dict[str, int]) -> None:
        """Those that moved. If they are lost in a crash, events are given again, none is left out."""

    def keep_chats(self, changed: dict[str, ChatRow | None]) -> None:
        """Rows of the chat list that changed; None: the chat is not in it any more."""

    def close(self) -> None: ...
