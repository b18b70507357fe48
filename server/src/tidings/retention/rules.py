"""Decide which messages have expired. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from tidings.chats.model import ChatType
from tidings.messages.model import Entry, EntryKind
from tidings.retention.model import ChatRetention
from tidings.tenants.model import RetentionSettings

DAY_MS: Final = 86_400_000
SKEW_MS: Final = 5 * 60_000
"""How far the clocks of processes may differ: an entry that is appended later can have a time that is earlier by this."""
MAX_ACTIONS: Final = 90
"""Writes of one transaction. DynamoDB allows 100, and two of them check the policy."""


def days_of(settings: RetentionSettings, type_: ChatType, chat: ChatRetention) -> int | None:
    """Return the limit of a chat: its own one, or else that of its type. None: messages do not expire."""
    if chat.days is not None:
        return chat.days
    return settings.direct_days if type_ is ChatType.DIRECT else settings.group_days


def cutoff_ms(settings: RetentionSettings, type_: ChatType, chat: ChatRetention, now_ms: int) -> int | None:
    """Return the time before which messages of a chat have expired. None: none expires, or a legal hold keeps them."""
    days = days_of(settings, type_, chat)
    if days is None or settings.is_held or chat.is_held:
        return None
    return now_ms - days * DAY_MS


def is_due(oldest_ms: int | None, cutoff: int) -> bool:
    """Return whether the log of a chat may have an entry after its position that is older than the cutoff."""
    return oldest_ms is None or oldest_ms < cutoff


def expired_part(entries: Sequence[Entry], cutoff: int) -> Sequence[Entry]:
    """Return the first entries of a log that are older than the cutoff.

    It ends at the first entry that is not: clocks differ, so a later one may be slightly older. It expires with it.
    """
    for index, entry in enumerate(entries):
        if entry.created_at_ms >= cutoff:
            return entries[:index]
    return entries


def oldest_after(entries: Sequence[Entry], expired: int, now_ms: int) -> int | None:
    """Return a time that no entry after the first `expired` ones is older than. None: unknown, the log may have more.

    `entries` are the next ones of the log. There are none at its end.
    """
    if expired < len(entries):
        return entries[expired].created_at_ms
    return None if entries else now_ms - SKEW_MS


def has_content(entry: Entry, now_ms: int) -> bool:
    """Return whether an entry is a message with content that must be removed. One that was emptied before has none."""
    if entry.kind is not EntryKind.MESSAGE or entry.redacted_at_ms is not None:
        return False
    is_ephemeral = entry.visible_until_ms is not None and entry.visible_until_ms > now_ms
    is_archived = entry.archive_key is not None
    return entry.content is not None or bool(entry.attachments) or is_ephemeral or is_archived


def transactions(messages: Iterable[Entry]) -> Iterator[Sequence[Entry]]:
    """Split messages so that the writes of each part fit into one transaction."""
    part: list[Entry] = []
    actions = 0
    for message in messages:
        needed = 1 + len(message.attachments) + (message.visible_until_ms is not None)
        if actions + needed > MAX_ACTIONS:
            yield part
            part, actions = [], 0
        part.append(message)
        actions += needed
    if part:
        yield part
