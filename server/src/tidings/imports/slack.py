"""Convert a Slack export, the ZIP file of a workspace, to an import file.

Two passes over the archive: the first finds users that are not in `users.json`, such as bots and guests of other
workspaces. One day of a channel is in memory at a time.
"""

from collections.abc import Collection, Iterable, Iterator
from datetime import UTC, datetime
from typing import Final, NamedTuple, Protocol
from urllib.parse import urlsplit, urlunsplit

from msgspec import Struct, field

from tidings.imports.conversion import (
    MAX_MENTIONS,
    ConversionReport,
    UserIds,
    clip_name,
    decode_json,
    reaction_parts,
    split_message,
)
from tidings.imports.model import (
    AttachmentPart,
    ChatLine,
    HeaderLine,
    ImportLine,
    MemberLine,
    MessageLine,
    ReactionPart,
    UserLine,
)
from tidings.imports.reader import ImportFolder
from tidings.imports.slack_markup import emoji_of, plain_text
from tidings.kernel.ids import UserId

MESSAGES: Final = frozenset(
    {None, "bot_message", "file_share", "me_message", "thread_broadcast", "tombstone"}
)
"""Subtypes that are messages. Others report a change of a channel, such as a join or a new topic."""
_PAIR: Final = 2
_FILES_BYTES: Final = 900
_FILE_BYTES: Final = 140
"""The description of a file in the content, without its name."""


class Archive(Protocol):
    """The ZIP file."""

    def names(self) -> Collection[str]: ...

    def read(self, name: str) -> bytes: ...


class _Profile(Struct):
    real_name: str | None = None
    display_name: str | None = None
    name: str | None = None
    email: str | None = None
    image_512: str | None = None


class _User(Struct):
    id: str
    name: str | None = None
    real_name: str | None = None
    profile: _Profile = field(default_factory=_Profile)


class _Channel(Struct):
    id: str
    name: str | None = None
    created: float = 0
    creator: str | None = None
    members: list[str] = field(default_factory=list)


class _Edited(Struct):
    ts: str


class _Reaction(Struct):
    name: str
    users: list[str] = field(default_factory=list)


class _File(Struct):
    id: str | None = None
    name: str | None = None
    title: str | None = None
    url_private: str | None = None


class _Attachment(Struct):
    fallback: str | None = None
    text: str | None = None


class _Message(Struct):
    ts: str
    type: str = "message"
    subtype: str | None = None
    user: str | None = None
    bot_id: str | None = None
    username: str | None = None
    text: str | None = None
    thread_ts: str | None = None
    edited: _Edited | None = None
    reactions: list[_Reaction] = field(default_factory=list)
    files: list[_File | None] = field(default_factory=list)
    attachments: list[_Attachment] = field(default_factory=list)
    user_profile: _Profile | None = None
    bot_profile: _Profile | None = None

    @property
    def author(self) -> str | None:
        return self.user or self.bot_id


class _Folder(NamedTuple):
    """A channel, its kind, and the folder with its days."""

    channel: _Channel
    kind: str
    folder: str


class SlackConverter:
    """Yields the lines of an import file. `source` separates two workspaces that are imported into one tenant.

    `folder`: of downloaded files. Each is at the place `ID/NAME`. Other files become their name and address.
    """

    def __init__(
        self, archive: Archive, source: str, ids: UserIds | None = None, folder: ImportFolder | None = None
    ) -> None:
        self._archive = archive
        self._folder = folder
        self._source = source
        self._ids = ids or UserIds()
        self._names: dict[str, str] = {}
        self._days: dict[str, list[str]] = {}
        for name in sorted(archive.names()):
            channel, _, day = name.rpartition("/")
            if channel and day.endswith(".json"):
                self._days.setdefault(channel, []).append(name)
        self.report = ConversionReport()

    def convert(self) -> Iterator[ImportLine]:
        yield HeaderLine(version=1, source=self._source)
        folders = list(self._folders())
        for line in self._users(folders):
            self.report.users += 1
            yield line
        for each in folders:
            yield from self._chat(each)

    def _folders(self) -> Iterator[_Folder]:
        for file, kind in (("channels", "group"), ("groups", "group"), ("mpims", "mpim"), ("dms", "dm")):
            for each in self._listed(f"{file}.json", _Channel):
                yield _Folder(each, kind, each.id if kind == "dm" else each.name or each.id)

    def _listed[T](self, name: str, kind: type[T]) -> list[T]:
        if name not in self._archive.names():
            return []
        return decode_json(self._archive.read(name), list[kind])  # type: ignore[valid-type]

    def _users(self, folders: Iterable[_Folder]) -> Iterator[UserLine]:
        written: set[UserId] = set()

        def line(foreign: str, name: str, profile: _Profile | None = None) -> Iterator[UserLine]:
            self._names.setdefault(foreign, name)
            user = self._ids.of(foreign)
            if user not in written:
                written.add(user)
                avatar = profile.image_512 if profile else None
                is_https = avatar is not None and avatar.startswith("https://")
                email = (profile.email if profile else None) or None
                yield UserLine(id=user, name=name, email=email, avatar=avatar if is_https else None)

        for user in (*self._listed("users.json", _User), *self._listed("org_users.json", _User)):
            yield from line(user.id, _name(user), user.profile)
        for each in folders:
            for foreign in each.channel.members:
                yield from line(foreign, foreign)
            for message in self._messages(each.folder):
                for foreign, name in _people(message):
                    yield from line(foreign, name)

    def _messages(self, folder: str) -> Iterator[_Message]:
        """Yield the messages of a channel in the order of time, each once."""
        last = ""
        for day in self._days.get(folder, ()):
            found = decode_json(self._archive.read(day), list[_Message])
            for message in sorted(found, key=lambda each: float(each.ts)):
                if message.ts != last:
                    last = message.ts
                    yield message

    def _chat(self, folder: _Folder) -> Iterator[ImportLine]:
        channel = folder.channel
        members = list(dict.fromkeys(self._ids.of(user) for user in channel.members))
        if not members:
            self.report.left_out["chats without members"] += 1
            return
        is_direct = folder.kind == "dm" and len(members) == _PAIR
        creator = None if channel.creator not in self._names else channel.creator
        yield ChatLine(
            id=channel.id,
            kind="direct" if is_direct else "group",
            name=None if is_direct else self._chat_name(folder),
            created_at=datetime.fromtimestamp(channel.created, UTC),
            created_by=None if creator is None else self._ids.of(creator),
        )
        self.report.chats += 1
        for user in members:
            yield MemberLine(chat=channel.id, user=user)
        seen: set[str] = set()
        last = datetime.fromtimestamp(0, UTC)
        for message in self._messages(folder.folder):
            # A day ends at midnight of the workspace's time zone, which may have changed.
            last = max(last, _time(message.ts))
            for line in self._lines(channel.id, message, seen, last):
                self.report.messages += 1
                yield line

    def _chat_name(self, folder: _Folder) -> str:
        channel = folder.channel
        if folder.kind == "group":
            return clip_name(channel.name or channel.id)
        return clip_name(", ".join(self._names.get(user, user) for user in channel.members))

    def _lines(self, chat: str, message: _Message, seen: set[str], at: datetime) -> Iterator[MessageLine]:
        if message.type != "message" or message.subtype not in MESSAGES or message.author is None:
            self.report.left_out["changes of channels, such as joins and topics"] += 1
            return
        if message.ts in seen:
            return
        mentions: dict[UserId, None] = {}
        files = list(self._files(message))
        text = self._text(message, mentions, len(files))
        is_deleted = message.subtype == "tombstone"
        if not text and not files and not is_deleted:
            self.report.left_out["messages without text"] += 1
            return
        seen.add(message.ts)
        is_reply = message.thread_ts != message.ts and message.thread_ts in seen
        line = MessageLine(
            chat=chat,
            id=message.ts,
            user=self._ids.of(message.author),
            at=at,
            text="" if is_deleted else text,
            reply_to=message.thread_ts if is_reply else None,
            mentions=() if is_deleted else tuple(mentions)[:MAX_MENTIONS],
            edited_at=None if message.edited is None or is_deleted else max(at, _time(message.edited.ts)),
            deleted_at=at if is_deleted else None,
            reactions=() if is_deleted else self._reactions(message),
            attachments=() if is_deleted else tuple(files),
        )
        yield from split_message(line)

    def _files(self, message: _Message) -> Iterator[AttachmentPart]:
        """Yield the first files of a message, as many as are in the folder and fit into its content."""
        left = _FILES_BYTES
        for file in message.files:
            if self._folder is None or file is None or not file.id or not file.name:
                return
            left -= _FILE_BYTES + len(file.name.encode())
            part = AttachmentPart(path=f"{file.id}/{file.name}")
            if left < 0 or not self._folder.has(part):
                return
            yield part

    def _text(self, message: _Message, mentions: dict[UserId, None], stored: int) -> str:
        """Return the text, with the addresses of files after the first `stored` ones."""

        def on_mention(foreign: str) -> None:
            if foreign in self._names:
                mentions[self._ids.of(foreign)] = None

        text = message.text or next((a.text or a.fallback or "" for a in message.attachments), "")
        parts = [plain_text(text, lambda user: self._names.get(user, user), on_mention)]
        parts += [_file_text(each) for each in message.files[stored:] if each is not None]
        return "\n".join(part for part in parts if part)

    def _reactions(self, message: _Message) -> tuple[ReactionPart, ...]:
        found = ((emoji_of(each.name), map(self._ids.of, each.users)) for each in message.reactions)
        return reaction_parts(found, self.report)


def _name(user: _User) -> str:
    profile = user.profile
    return profile.display_name or profile.real_name or user.real_name or user.name or user.id


def _people(message: _Message) -> Iterator[tuple[str, str]]:
    """Yield the users that a message needs, with a name."""
    if message.author is not None:
        profile = message.user_profile or message.bot_profile or _Profile()
        name = message.username or profile.display_name or profile.real_name or profile.name
        yield message.author, name or message.author
    for reaction in message.reactions:
        yield from ((user, user) for user in reaction.users)


def _time(ts: str) -> datetime:
    return datetime.fromtimestamp(float(ts), UTC)


def _file_text(file: _File) -> str:
    """Return the name and address of a file. The query of the address is dropped: it has a token of the export."""
    name = file.title or file.name or ""
    if file.url_private is None:
        return name
    address = urlunsplit(urlsplit(file.url_private)._replace(query="", fragment=""))
    return f"{name}: {address}" if name else address
