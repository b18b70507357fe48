"""What a device has asked to be told of, and what others were told of it. Pure."""

from typing import final

from tidings.kernel.ids import ChatId, UserId


@final
class DeviceSubscriptions:
    """`chats` and `users` in the order in which they were asked for; of some of them nothing may be his to see.

    `typing`: chats in which others believe that he types. `is_away`: as the device has said.
    """

    __slots__ = ("chats", "is_away", "typing", "users")

    def __init__(self) -> None:
        self.chats: dict[ChatId, None] = {}
        self.users: dict[UserId, None] = {}
        self.typing: dict[ChatId, None] = {}
        self.is_away = False

    def would_have(self, chats: set[ChatId], users: set[UserId]) -> int:
        return len(self.chats.keys() | chats) + len(self.users.keys() | users)
