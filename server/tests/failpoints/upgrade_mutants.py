"""Versions that cannot run next to the one before them. The upgrade test must catch each."""

from collections.abc import Callable
from typing import Final

from tidings.kernel.ids import ChatKey
from tidings.tenants.sealing import UserKeys

_FORMAT: Final = b"\x02"


def writes_another_format() -> None:
    """Write the content of messages in a format that the version before cannot read. Read both."""
    seal, unseal = UserKeys.seal, UserKeys.unseal

    def seal_new(self: UserKeys, chat: ChatKey, sequence: int, body: bytes, /) -> bytes:
        return seal(self, chat, sequence, _FORMAT + body)

    def unseal_both(self: UserKeys, chat: ChatKey, sequence: int, content: bytes, /) -> bytes:
        return unseal(self, chat, sequence, content).removeprefix(_FORMAT)

    UserKeys.seal = seal_new  # type: ignore[method-assign]
    UserKeys.unseal = unseal_both  # type: ignore[method-assign]


UPGRADE_MUTANTS: Final[dict[str, Callable[[], None]]] = {"writes_another_format": writes_another_format}
