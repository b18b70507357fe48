"""`tidings message list`: list messages by time, to find the id for `tidings trace`. Never shows content."""

import asyncio
from datetime import UTC, datetime
from typing import override

import click

from tidings.app.settings.loader import load
from tidings.app.wiring.engine_clients import open_tables
from tidings.app.wiring.trace import build_support_lookup
from tidings.cli.output import SafeTable, echo, echo_json, show_wide
from tidings.kernel.clock import SystemClock, format_ms
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId, ChatKey, TenantId, message_id
from tidings.messages.model import Entry
from tidings.schema.tables.model import KeyPartError
from tidings.trace.lookup import MessageRange


class _Time(click.ParamType[int]):
    """A time, as milliseconds since 1970."""

    name = "time"

    @override
    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        try:
            at = datetime.fromisoformat(str(value))
        except ValueError:
            self.fail(f"{value!r} is not a time like 2026-11-15T14:05 or 2026-11-15T14:05+01:00", param, ctx)
        return round((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)


@click.group(name="message")
def group() -> None:
    """Messages of a chat by time, without their content."""


@group.command(name="list")
@click.option("--tenant", required=True, help="The tenant of the chat.")
@click.option("--chat", required=True, help="The id of the chat, as `tidings user chats` lists it.")
@click.option(
    "--around", "at_ms", type=_Time(), help="A time like 2026-11-15T14:05, in UTC unless it has an offset."
)
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 200))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON value.")
def list_(tenant: str, chat: str, at_ms: int | None, limit: int, *, as_json: bool) -> None:
    """List senders and times of messages in a chat: around a time, or the newest. Shows no content."""
    key = ChatKey(TenantId(tenant), ChatId(chat))
    try:
        found = asyncio.run(_read(key, at_ms, limit))
    except KeyPartError as error:
        raise TidingsError(Code.REQUEST_INVALID, f"Not a valid id: {error}") from error
    if as_json:
        messages = [_fields(key.chat, entry) for entry in found.entries]
        echo_json(
            {"messages": messages, "has_earlier": found.has_earlier, "has_later": found.has_later},
        )
    else:
        _show(key.chat, found)


async def _read(chat: ChatKey, at_ms: int | None, limit: int) -> MessageRange:
    settings = load().settings
    async with open_tables(settings.dynamo) as client:
        return await build_support_lookup(settings, client, SystemClock()).messages.find_around(
            chat, at_ms, limit
        )


def _show(chat: ChatId, found: MessageRange) -> None:
    table = SafeTable("message", "committed", "kind", "sender", "about", "edited", "redacted")
    for entry in found.entries:
        shown = _fields(chat, entry)
        names = ("message", "committed_at", "kind", "sender", "refers_to", "edited_at", "redacted_at")
        table.add_row(*(shown[name] or "-" for name in names))
    show_wide(table)
    sides = [word for word, has in (("earlier", found.has_earlier), ("later", found.has_later)) if has]
    if sides:
        echo(f"There are {' and '.join(sides)} ones: raise --limit, or move --around.", dim=True)


def _fields(chat: ChatId, entry: Entry) -> dict[str, str | None]:
    return {
        "message": message_id(chat, entry.sequence),
        "committed_at": format_ms(entry.created_at_ms),
        "kind": entry.kind.value,
        "sender": entry.sender,
        "refers_to": None if entry.refers_to is None else message_id(chat, entry.refers_to),
        "edited_at": None if entry.edited_at_ms is None else format_ms(entry.edited_at_ms),
        "redacted_at": None if entry.redacted_at_ms is None else format_ms(entry.redacted_at_ms),
    }
