"""Checks of users who are mentioned in a large chat."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from fixtures.memory_chat_rows import PlainKeys
from msgspec.structs import replace
from unit.delivery.worker_env import ANNA, BEN, CLEO, chat, log_of

from tidings.delivery.mentions import MentionChecks, MessageText
from tidings.kernel.ids import ChatKey, UserId
from tidings.messages.model import Entry, EntryKind

CHAT = chat("g1")


@dataclass
class RequestedChecks:
    requested: list[tuple[UserId, int, int]] = field(default_factory=list)

    def check(
        self,
        chat: ChatKey,
        users: Sequence[UserId],
        first: int,
        last: int,
        *,
        is_reconnecting: bool = False,
        is_mention: bool = False,
    ) -> None:
        assert (chat, is_reconnecting, is_mention) == (CHAT, False, True)
        self.requested += [(user, first, last) for user in users]

    def check_late(self, check: object) -> None:
        raise AssertionError(check)


def read_mentions(body: bytes) -> MessageText:
    return MessageText("", [UserId(name) for name in body.decode().split()])


async def request(*run: Entry) -> list[tuple[UserId, int, int]]:
    checks = RequestedChecks()
    await MentionChecks(PlainKeys(), read_mentions, checks).request(CHAT, run)
    return checks.requested


async def test_users_who_are_mentioned_are_checked_once_for_each_message() -> None:
    _, second, third = log_of(3, b"ben cleo ben")
    assert await request(second, third) == [(BEN, 2, 2), (CLEO, 2, 2), (BEN, 3, 3), (CLEO, 3, 3)]


async def test_senders_redacted_messages_and_other_entries_cause_no_check() -> None:
    created, message = log_of(2, b"anna")
    assert message.sender == ANNA
    mentioning = replace(message, content=b"ben")
    redacted = replace(mentioning, redacted_at_ms=5)
    erased = replace(mentioning, content=None)
    edited = replace(mentioning, kind=EntryKind.EDIT)
    assert await request(created, message, redacted, erased, edited) == []
