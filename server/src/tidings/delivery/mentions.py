"""The text and mentions of messages, and checks of users who are mentioned in a large chat.

Delivery does not know who is connected to the channel of a large chat, and most of its members need no notification. So
only users who are mentioned are checked.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tidings.delivery.ports import OfflineCheckPublisher
from tidings.delivery.rules import EntryRun
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, UserId
from tidings.messages.model import Entry, EntryKind
from tidings.messages.ports import AuthorKeys, KeyProvider


class MessageText(NamedTuple):
    """The text of a message body, or the name of its first file, and its mentions."""

    text: str = ""
    mentions: Sequence[UserId] = ()


type ReadText = Callable[[bytes], MessageText]


def open_text(chat: ChatKey, message: Entry, keys: AuthorKeys, read_text: ReadText) -> MessageText:
    """Return the text of a message; empty without content, and for content that was altered."""
    if message.content is None:
        return MessageText()
    try:
        body = keys.unseal(chat, message.sequence, message.sender, message.content)
    except TidingsError as error:
        if error.code is not Code.DECRYPTION_FAILED:
            raise
        return MessageText()  # One altered message must not block the others.
    return MessageText() if body is None else read_text(body)


class MentionChecks:
    def __init__(self, keys: KeyProvider, read_text: ReadText, checks: OfflineCheckPublisher) -> None:
        self._keys = keys
        self._read_text = read_text
        self._checks = checks

    async def request(self, chat: ChatKey, run: EntryRun) -> None:
        """Request an offline check of the users that each message of the run mentions. Raises `keys_unavailable`.

        A check of a user who is connected, or not a member, has no event.
        """
        messages = [each for each in run if each.kind is EntryKind.MESSAGE and each.redacted_at_ms is None]
        contents = [(each.sender, each.content) for each in messages if each.content is not None]
        if not contents:
            return
        keys = await self._keys.to_read(chat.tenant, contents)
        for message in messages:
            mentioned = dict.fromkeys(open_text(chat, message, keys, self._read_text).mentions)
            if users := [user for user in mentioned if user != message.sender]:
                self._checks.check(chat, users, message.sequence, message.sequence, is_mention=True)
