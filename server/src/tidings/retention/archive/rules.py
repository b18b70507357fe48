"""Decide which messages are archived, where their part is, and encrypt its rows. Pure."""

import secrets
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tidings.kernel.ids import ChatKey, TenantId
from tidings.messages.model import Entry, EntryKind
from tidings.retention.archive.model import ArchivedRange, ArchivedRow, SealedMessage
from tidings.retention.model import ChatRetention
from tidings.retention.rules import DAY_MS
from tidings.tenants.model import RetentionSettings

_NONCE: Final = bytes(12)
"""Each key encrypts one row only."""


def cutoff_ms(settings: RetentionSettings, chat: ChatRetention, now_ms: int) -> int | None:
    """Return the time before which messages of a chat are archived. None: none is, or a legal hold keeps them."""
    if settings.archive_days is None or settings.is_held or chat.is_held:
        return None
    return now_ms - settings.archive_days * DAY_MS


def is_archivable(entry: Entry) -> bool:
    """Return whether an entry is a message with content in the log. A message with a time limit of its own is not."""
    return entry.kind is EntryKind.MESSAGE and entry.content is not None and entry.visible_until_ms is None


def month_of(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m")


def tenant_prefix(tenant: TenantId) -> str:
    """Return the start of the keys of the archive of a tenant. Uploads and exports have other ones."""
    return f"{tenant}/archive/"


def part_key(tenant: TenantId, month: str, part: str) -> str:
    """Return the key of a part: the form of a partition that query engines know."""
    return f"{tenant_prefix(tenant)}month={month}/{part}.parquet"


def manifest_prefix(tenant: TenantId, month: str | None = None) -> str:
    """Manifests are outside of the partitions, where query engines expect Parquet files only."""
    return f"{tenant_prefix(tenant)}manifests/{'' if month is None else f'{month}/'}"


def manifest_key(tenant: TenantId, month: str, part: str) -> str:
    return f"{manifest_prefix(tenant, month)}{part}.json"


def seal_message(chat: ChatKey, entry: Entry) -> SealedMessage:
    """Encrypt the content of an entry, as stored, with a new key."""
    key = secrets.token_bytes(32)
    content = AESGCM(key).encrypt(_NONCE, entry.content or b"", _location(chat, entry.sequence))
    return SealedMessage(chat, entry, content, key)


def open_row(chat: ChatKey, row: ArchivedRow, key: bytes) -> bytes | None:
    """Return the content as it was stored in the log. None: the row was altered, or is that of another message."""
    try:
        return AESGCM(key).decrypt(_NONCE, row.content, _location(chat, row.sequence))
    except InvalidTag:
        return None


def _location(chat: ChatKey, sequence: int) -> bytes:
    return f"{chat.tenant}#{chat.chat}#{sequence}".encode()


def rows_of(messages: Iterable[SealedMessage]) -> list[ArchivedRow]:
    return sorted(
        ArchivedRow(each.chat.chat, each.entry.sequence, each.entry.created_at_ms, each.content)
        for each in messages
    )


def ranges_of(rows: Sequence[ArchivedRow]) -> tuple[ArchivedRange, ...]:
    """Return the range of each chat. The rows are in the order of `rows_of`."""
    found: list[ArchivedRange] = []
    for chat, group in groupby(rows, lambda row: row.chat):
        sequences = [row.sequence for row in group]
        found.append(ArchivedRange(chat=chat, first=sequences[0], last=sequences[-1], rows=len(sequences)))
    return tuple(found)
