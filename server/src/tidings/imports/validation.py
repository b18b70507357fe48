"""Validate import files before anything is written, and report what is wrong by line."""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from tidings.imports.chat_log import ImportedChatLog, find_member_problem
from tidings.imports.model import (
    MAX_SHOWN,
    VERSION,
    ChatLine,
    FoundFile,
    HeaderLine,
    ImportCounts,
    LinePlace,
    LineProblem,
    MemberLine,
    MessageLine,
    UserLine,
    check_user_id,
    decode_line,
    to_ms,
)
from tidings.imports.ports import LineChecks
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import UserId
from tidings.schema.tables.limits import EMOJI_BYTES


class ImportReport(msgspec.Struct, kw_only=True):
    """The result of a validation. `problems` are the first ones of `problem_count`."""

    source: str | None = None
    counts: ImportCounts = msgspec.field(default_factory=ImportCounts)
    problem_count: int = 0
    problems: list[LineProblem] = msgspec.field(default_factory=list)


class _ChatCheck:
    """The chat whose lines are read. `log` is None until its first message, when all members are known."""

    def __init__(self, line: ChatLine, place: LinePlace) -> None:
        self.line = line
        self.place = place
        self.members: list[MemberLine] = []
        self.log: ImportedChatLog | None = None
        self.has_members_problem = False
        self.last_ms = 0


class ImportValidator:
    """Checks lines in their order. Memory grows with the users, the chats, and the messages of the largest chat."""

    def __init__(
        self, checks: LineChecks, now_ms: int, *, max_members: int | None = None, max_shown: int = MAX_SHOWN
    ) -> None:
        self._checks = checks
        self._now_ms = now_ms
        self._max_members = max_members
        self._max_shown = max_shown
        self.report = ImportReport()
        self._path: str | None = None
        self._users: set[UserId] = set()
        self._chats: set[str] = set()
        self._pairs: set[frozenset[UserId]] = set()
        self._chat: _ChatCheck | None = None

    def validate(self, lines: Iterable[tuple[LinePlace, bytes]]) -> ImportReport:
        for place, line in lines:
            for reason in self._check(place, line):
                self._add(place, reason)
        self._end_chat()
        return self.report

    def _add(self, place: LinePlace, reason: str) -> None:
        self.report.problem_count += 1
        if len(self.report.problems) < self._max_shown:
            self.report.problems.append(LineProblem(place, reason))

    def _check(self, place: LinePlace, line: bytes) -> Iterator[str]:
        try:
            found = decode_line(line)
        except msgspec.DecodeError as error:
            found = None
            yield str(error)
        if place.path != self._path:
            self._end_chat()
            self._path = place.path
            if not isinstance(found, HeaderLine):
                yield "The first line of a file has `type` `import`."
        match found:
            case HeaderLine():
                yield from self._header(found, is_first=place.number == 1)
            case UserLine():
                yield from self._user(found)
            case ChatLine():
                yield from self._start_chat(found, place)
            case MemberLine():
                yield from self._member(found)
            case MessageLine():
                yield from self._message(found)

    def _header(self, line: HeaderLine, *, is_first: bool) -> Iterator[str]:
        if not is_first:
            yield "`import` is the first line of a file."
        if line.version != VERSION:
            yield f"Version {line.version} is not known. Allowed: {VERSION}."
        if self.report.source not in {None, line.source}:
            yield f"The source is `{line.source}`, and `{self.report.source}` in the file before. Import them apart."
        self.report.source = line.source

    def _user(self, line: UserLine) -> Iterator[str]:
        self.report.counts.users += 1
        if self._chat is not None:
            yield "Lines of users come before the first chat of a file."
        if (reason := check_user_id(line.id)) is not None:
            yield reason
        if line.id in self._users:
            yield f"A second line for the user `{line.id}`."
        self._users.add(line.id)
        yield from _raised(lambda: self._checks.check_user(line))

    def _start_chat(self, line: ChatLine, place: LinePlace) -> Iterator[str]:
        self._end_chat()
        self.report.counts.chats += 1
        self._chat = _ChatCheck(line, place)
        if line.id in self._chats:
            yield f"A second line for the chat `{line.id}`. All lines of a chat follow its `chat` line."
        self._chats.add(line.id)
        if line.created_by is not None:
            yield from self._known(line.created_by)
        if line.created_at is not None and to_ms(line.created_at) > self._now_ms:
            yield "`created_at` is in the future."

    def _member(self, line: MemberLine) -> Iterator[str]:
        self.report.counts.members += 1
        yield from self._known(line.user)
        yield from self._in_chat(line.chat)
        if self._chat is None:
            return
        if self._chat.log is not None:
            yield "Lines of members come before the messages of their chat."
        for name, at in (("joined_at", line.joined_at), ("left_at", line.left_at)):
            if at is not None and to_ms(at) > self._now_ms:
                yield f"`{name}` is in the future."
        self._chat.members.append(line)

    def _message(self, line: MessageLine) -> Iterator[str]:
        self.report.counts.messages += 1
        self.report.counts.reactions += sum(len(each.users) for each in line.reactions)
        yield from self._known(line.user, *line.mentions)
        yield from self._in_chat(line.chat)
        chat = self._chat
        if chat is None or (log := self._log_of(chat)) is None:
            return
        yield from self._times(line, chat)
        if line.id in log.sequences:
            yield f"A second message `{line.id}` in its chat."
        if line.reply_to is not None and line.reply_to not in log.sequences:
            yield f"`reply_to` is `{line.reply_to}`, which is no earlier message of the chat."
        reply_to = None if line.reply_to is None else log.sequences.get(line.reply_to)
        for _ in log.add(line):
            pass
        if line.deleted_at is None:
            yield from _raised(lambda: self._checks.encode_message(line, reply_to, self._files(line)))
        elif line.text or line.data is not None or line.reactions or line.attachments:
            yield "A message with `deleted_at` has no `text`, `data`, `reactions` or `attachments`."
        yield from self._reactions(line)

    def _files(self, line: MessageLine) -> dict[str, FoundFile]:
        """Return the files of a message. Their uploads have ids of the length that they will have."""
        self.report.counts.attachments += len(line.attachments)
        return {f"{n:026}": self._checks.find_file(part) for n, part in enumerate(line.attachments)}

    def _times(self, line: MessageLine, chat: _ChatCheck) -> Iterator[str]:
        at_ms = to_ms(line.at)
        if at_ms < chat.last_ms:
            yield "`at` is earlier than that of the message before. Messages of a chat are in the order of time."
        if at_ms > self._now_ms:
            yield "`at` is in the future."
        if at_ms < 0:
            yield "`at` is before 1970."
        for name, changed_at in (("edited_at", line.edited_at), ("deleted_at", line.deleted_at)):
            if changed_at is not None and not at_ms <= to_ms(changed_at) <= self._now_ms:
                yield f"`{name}` is before `at` or in the future."
        chat.last_ms = max(at_ms, chat.last_ms)

    def _reactions(self, line: MessageLine) -> Iterator[str]:
        emoji = [each.emoji for each in line.reactions]
        if len(set(emoji)) < len(emoji):
            yield "`reactions` has an emoji twice."
        for each in line.reactions:
            if len(each.emoji.encode()) > EMOJI_BYTES:
                yield f"The emoji `{each.emoji}` has more than {EMOJI_BYTES} bytes."
            if len(set(each.users)) < len(each.users):
                yield f"`reactions` has a user twice for `{each.emoji}`."
            yield from self._known(*each.users)

    def _known(self, *users: UserId) -> Iterator[str]:
        for user in users:
            if user not in self._users:
                yield f"There is no line for the user `{user}` before this one."

    def _in_chat(self, chat: str) -> Iterator[str]:
        if self._chat is None:
            yield "There is no line for a chat before this one."
        elif chat != self._chat.line.id:
            yield f"The line is of the chat `{chat}`, and follows the line of the chat `{self._chat.line.id}`."

    def _log_of(self, chat: _ChatCheck) -> ImportedChatLog | None:
        """Return the log of a chat whose members are complete. Report once if they are not allowed."""
        if chat.log is None and not chat.has_members_problem:
            reason = find_member_problem(chat.line, chat.members) or self._size_problem(chat)
            if reason is None:
                chat.log = ImportedChatLog(chat.line, chat.members)
            else:
                chat.has_members_problem = True
                self._add(chat.place, reason)
        return chat.log

    def _size_problem(self, chat: _ChatCheck) -> str | None:
        users = frozenset(each.user for each in chat.members)
        if chat.line.kind == "direct":
            if users in self._pairs:
                return f"`{chat.line.id}` is a second direct chat of the same users."
            self._pairs.add(users)
        present = {each.user for each in chat.members if each.left_at is None}
        if self._max_members is not None and len(present) > self._max_members:
            return f"`{chat.line.id}` has {len(present)} members; the tenant allows {self._max_members}."
        return None

    def _end_chat(self) -> None:
        chat, self._chat = self._chat, None
        if chat is None:
            return
        log = self._log_of(chat)
        if log is not None and not log.head and chat.line.created_at is None:
            self._add(chat.place, f"The chat `{chat.line.id}` has neither messages nor `created_at`.")


def _raised(check: Callable[[], object]) -> Iterator[str]:
    try:
        check()
    except TidingsError as error:
        yield error.message
