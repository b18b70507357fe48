"""Convert the JSON export of a Matrix room, as Element writes it, to an import file.

The export is a timeline. Edits, redactions and reactions are events of their own; the result has each message in its last
state. One room is in memory at a time.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from msgspec import Struct, field

from tidings.imports.conversion import (
    MAX_MENTIONS,
    ConversionReport,
    UserIds,
    clip_name,
    decode_json,
    message_id_of,
    reaction_parts,
    split_message,
)
from tidings.imports.model import ChatLine, HeaderLine, ImportLine, MemberLine, MessageLine, UserLine
from tidings.kernel.ids import UserId

_MESSAGES: Final = frozenset({"m.room.message", "m.sticker", "m.room.encrypted"})
_LEFT: Final = frozenset({"leave", "ban"})
_PAIR: Final = 2


class _RelatesTo(Struct):
    rel_type: str | None = None
    event_id: str | None = None
    key: str | None = None
    in_reply_to: dict[str, Any] | None = field(default=None, name="m.in_reply_to")


class _Mentions(Struct):
    user_ids: list[str] = field(default_factory=list)


class _Content(Struct):
    body: str | None = None
    url: str | None = None
    membership: str | None = None
    displayname: str | None = None
    relates_to: _RelatesTo | None = field(default=None, name="m.relates_to")
    new_content: "_Content | None" = field(default=None, name="m.new_content")
    mentions: _Mentions | None = field(default=None, name="m.mentions")


class _Redaction(Struct):
    origin_server_ts: int = 0


class _Unsigned(Struct):
    redacted_because: _Redaction | None = None


class MatrixEvent(Struct):
    """The parts of an event that are converted."""

    type: str
    event_id: str
    sender: str
    origin_server_ts: int
    content: _Content = field(default_factory=_Content)
    unsigned: _Unsigned | None = None
    room_id: str | None = None
    state_key: str | None = None

    @property
    def relates_to(self) -> _RelatesTo:
        return self.content.relates_to or _RelatesTo()


class MatrixExport(Struct):
    """The file."""

    messages: list[MatrixEvent]
    room_name: str | None = None
    room_creator: str | None = None


class MatrixConverter:
    """Yields the lines of an import file. `is_direct`: the room is the direct chat of its two members."""

    def __init__(
        self, export: MatrixExport, source: str, ids: UserIds | None = None, *, is_direct: bool = False
    ) -> None:
        self._events = sorted(export.messages, key=lambda event: event.origin_server_ts)
        self._export = export
        self._source = source
        self._ids = ids or UserIds()
        self._is_direct = is_direct
        self.report = ConversionReport()
        self._names: dict[str, str] = {}
        self._left: dict[str, datetime | None] = {}
        self._edits: dict[tuple[str, str], MatrixEvent] = {}
        self._reactions: dict[str, list[tuple[str, list[UserId]]]] = {}

    def convert(self) -> Iterator[ImportLine]:
        self._read_changes()
        yield HeaderLine(version=1, source=self._source)
        users = {self._ids.of(foreign): name for foreign, name in self._names.items()}
        for user, name in users.items():
            self.report.users += 1
            yield UserLine(id=user, name=name)
        chat = next((event.room_id for event in self._events if event.room_id), self._export.room_name)
        yield from self._chat(chat or "room")

    def _read_changes(self) -> None:
        """Read names, members, edits and reactions, which messages refer to from anywhere."""
        for event in self._events:
            if event.type == "m.room.member" and event.state_key is not None:
                self._read_member(event, event.state_key)
                continue
            self._add_user(event.sender)
            relates_to = event.relates_to
            if event.type == "m.reaction" and relates_to.event_id and relates_to.key:
                reactions = self._reactions.setdefault(relates_to.event_id, [])
                reactions.append((relates_to.key, [self._ids.of(event.sender)]))
            elif relates_to.rel_type == "m.replace" and relates_to.event_id and event.content.new_content:
                # Only the author may edit a message: another user's event is ignored by clients, too.
                self._edits[relates_to.event_id, event.sender] = event

    def _read_member(self, event: MatrixEvent, user: str) -> None:
        if event.content.membership == "join":
            self._add_user(user)
            if event.content.displayname:
                self._names[user] = event.content.displayname
            self._left[user] = None
        elif event.content.membership in _LEFT and user in self._left:
            self._left[user] = _time(event.origin_server_ts)

    def _add_user(self, user: str) -> None:
        self._names.setdefault(user, user)
        self._left.setdefault(user, None)

    def _chat(self, chat: str) -> Iterator[ImportLine]:
        present = {self._ids.of(user) for user, left in self._left.items() if left is None}
        if not present:
            self.report.left_out["chats without members"] += 1
            return
        is_direct = self._is_direct and len(self._left) == len(present) == _PAIR
        creator = self._export.room_creator
        yield ChatLine(
            id=chat,
            kind="direct" if is_direct else "group",
            name=None if is_direct else clip_name(self._export.room_name or chat),
            created_at=_time(self._events[0].origin_server_ts),
            created_by=self._ids.of(creator) if creator in self._names and creator is not None else None,
        )
        self.report.chats += 1
        left = {self._ids.of(user): at for user, at in self._left.items()}
        for user, at in left.items():
            yield MemberLine(chat=chat, user=user, left_at=at)
        seen: set[str] = set()
        for event in self._events:
            for line in self._lines(chat, event, seen):
                self.report.messages += 1
                yield line

    def _lines(self, chat: str, event: MatrixEvent, seen: set[str]) -> Iterator[MessageLine]:
        if event.type not in _MESSAGES or event.relates_to.rel_type == "m.replace" or event.event_id in seen:
            return
        at = _time(event.origin_server_ts)
        redaction = event.unsigned.redacted_because if event.unsigned else None
        edit = self._edits.get((event.event_id, event.sender))
        content = edit.content.new_content if edit is not None else None
        text = _text(content or event.content, is_reply=event.relates_to.in_reply_to is not None)
        if redaction is None and not text:
            kind = "encrypted messages" if event.type == "m.room.encrypted" else "messages without text"
            self.report.left_out[kind] += 1
            return
        parent = _parent(event.relates_to)
        replied = message_id_of(parent) if parent is not None and parent in seen else None
        seen.add(event.event_id)  # after the look-up: an event that replies to itself is no reply
        line = MessageLine(
            chat=chat, id=message_id_of(event.event_id), user=self._ids.of(event.sender), at=at
        )
        if redaction is not None:
            yield msgspec.structs.replace(line, deleted_at=max(at, _time(redaction.origin_server_ts)))
            return
        yield from split_message(
            msgspec.structs.replace(
                line,
                text=text,
                reply_to=replied,
                mentions=self._mentions(content or event.content),
                edited_at=None if edit is None else max(at, _time(edit.origin_server_ts)),
                reactions=reaction_parts(self._reactions.get(event.event_id, ()), self.report),
            )
        )

    def _mentions(self, content: _Content) -> tuple[UserId, ...]:
        found = content.mentions.user_ids if content.mentions else []
        known = dict.fromkeys(self._ids.of(user) for user in found if user in self._names)
        return tuple(known)[:MAX_MENTIONS]


def decode_export(data: bytes) -> MatrixExport:
    """Decode an export. Raises `msgspec.DecodeError`."""
    return decode_json(data, MatrixExport)


def _parent(relates_to: _RelatesTo) -> str | None:
    """Return the message that an event replies to, or the first one of its thread."""
    replied = (relates_to.in_reply_to or {}).get("event_id")
    if isinstance(replied, str):
        return replied
    return relates_to.event_id if relates_to.rel_type == "m.thread" else None


def _text(content: _Content, *, is_reply: bool) -> str:
    """Return the text of a message, without the quote that older clients put before a reply."""
    body = content.body or ""
    if is_reply and body.startswith("> "):
        lines = body.split("\n")
        quoted = next((n for n, line in enumerate(lines) if not line.startswith("> ")), len(lines))
        body = "\n".join(lines[quoted:]).removeprefix("\n")
    if content.url:
        body = f"{body}: {content.url}" if body else content.url
    return body


def _time(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, UTC)
