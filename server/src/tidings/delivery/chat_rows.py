"""Project entries onto chat rows and heads: step 2 of the worker."""

from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import replace

from tidings.chats.model import ChatType, chat_type
from tidings.delivery import rules
from tidings.delivery.model import LastMessageRef, LogPosition, MissedRange, RowUpdate
from tidings.delivery.ports import AudienceReader, ChatRowWriter, PreviewText
from tidings.delivery.rules import EntryRun, PreviewCandidate
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, UserId
from tidings.messages.model import Entry, EntryKind, may_see
from tidings.messages.ports import AuthorKeys, KeyProvider, LogReader
from tidings.schema.tables.limits import PREVIEW_BYTES


class Previews:
    """Creates the encrypted previews of messages in chat rows."""

    def __init__(self, keys: KeyProvider, text_of: PreviewText) -> None:
        self._keys = keys
        self._text_of = text_of

    async def of(
        self, chat: ChatKey, wanted: Collection[PreviewCandidate]
    ) -> Mapping[PreviewCandidate, LastMessageRef]:
        """Return the previews. Each message is decrypted and encrypted once, regardless of the number of rows."""
        contents = [(c.message.sender, c.message.content) for c in wanted if c.message.content is not None]
        if not contents:
            return {candidate: with_preview(candidate, None) for candidate in wanted}
        keys = await self._keys.to_read(chat.tenant, contents)
        return {c: with_preview(c, self._preview(chat, c.message, keys)) for c in wanted}

    def _preview(self, chat: ChatKey, message: Entry, keys: AuthorKeys) -> bytes | None:
        """Return the preview, under the keys of its author. None: there is no content, or the author was erased."""
        if message.content is None:
            return None
        try:
            body = keys.unseal(chat, message.sequence, message.sender, message.content)
        except TidingsError as error:
            if error.code is not Code.DECRYPTION_FAILED:
                raise
            text = ""  # One altered message must not block the rows of its chat.
        else:
            text = "" if body is None else self._text_of(body)
        return keys.seal_preview(chat, message.sequence, message.sender, truncate(text))


def with_preview(candidate: PreviewCandidate, preview: bytes | None) -> LastMessageRef:
    """Return the message as a row shows it. Ephemeral and redacted messages have no preview text."""
    message = candidate.message
    is_redacted = message.redacted_at_ms is not None
    until_ms = None if is_redacted else message.visible_until_ms
    return LastMessageRef(
        sequence=candidate.sequence,
        version=candidate.version,
        at_ms=message.created_at_ms,
        sender=message.sender,
        preview=None if is_redacted or until_ms is not None else preview,
        expires_at_s=None if until_ms is None else -(-until_ms // 1000),
    )


def truncate(text: str) -> bytes:
    """Return at most `PREVIEW_BYTES` of the text, without splitting a character."""
    return text.encode()[:PREVIEW_BYTES].decode(errors="ignore").encode()


class ChatRowProjector:
    def __init__(
        self, writer: ChatRowWriter, audience: AudienceReader, log: LogReader, previews: Previews
    ) -> None:
        self._writer = writer
        self._audience = audience
        self._log = log
        self._previews = previews

    async def handle(self, chat: ChatKey, entries: Sequence[Entry]) -> MissedRange | None:
        """Write the rows and heads of entries, one write per row and run. Return entries that they lack.

        After such an answer nothing is written over the gap: call again once these entries are processed.
        """
        # Race: after a rebalance, the previous and the new worker of a partition may write the same rows. Every write
        # is conditional on newer parts, so the order of the two does not matter.
        is_direct = chat_type(chat.chat) is ChatType.DIRECT
        for run in rules.split_runs(entries):
            missed = await (self._direct(chat, run) if is_direct else self._group(chat, run))
            if missed is not None:
                return missed
        return None

    async def _direct(self, chat: ChatKey, run: EntryRun) -> MissedRange | None:
        """Write the rows of both users."""
        members = (await self._audience.of(chat, run[-1].sequence)).members
        shown, first = await self._newest_preview(chat, run), run[0].sequence

        async def raise_row(user: UserId) -> int:
            other = next((m.user for m in members if m.user != user), None)
            update = replace(rules.row_update_for(user, run), shown=shown, other=other)
            return await self._writer.raise_row(chat, user, first, update)

        before = min(await gather_limited(raise_row(member.user) for member in members), default=0)
        return MissedRange(before, first - 1) if before < first - 1 else None

    async def _group(self, chat: ChatKey, run: EntryRun) -> MissedRange | None:
        """Write one head for all members, after the rows of users who sent, joined or left."""
        since = (await self._audience.of(chat, run[-1].sequence)).large_since
        shown = await self._newest_preview(chat, run)
        head = replace(rules.head_update_for(run, large_since=since), shown=shown)
        await gather_limited(
            # Rows of groups lack entries that do not name their user, so there is no gap to find.
            self._writer.raise_row(chat, user, 1, _named_update(user, entries, since))
            for user, entries in rules.entries_by_affected_user(run).items()
        )
        # Race: a gateway or a chat list reads a row, then the head, while the worker writes. A head at n must prove that
        # the rows of users who sent, joined or left up to n are written, so the worker writes the head after them, and
        # never over a gap.
        first = run[0].sequence
        before = await self._writer.raise_head(chat, first, head)
        if before is None:
            await self._raise_members(chat, run)
            before = await self._writer.raise_head(chat, first, head, ends_quiet=True)
        return MissedRange(before, first - 1) if before is not None and before < first - 1 else None

    async def _raise_members(self, chat: ChatKey, run: EntryRun) -> None:
        """Raise the rows of all members to the end of the run, because readers of quiet rows do not read the head."""
        # Race: a gateway has read the old head and copies it into a row after this write. The row is at the end of the
        # run, which is above the copy, so the copy is refused, also if this worker dies before it raises the head.
        last = run[-1]
        update = RowUpdate(head=LogPosition(last.sequence, last.ordinal))
        await gather_limited(
            self._writer.raise_row(chat, member.user, 1, update)
            for member in await self._audience.everyone(chat)
            if may_see(member.intervals, last.sequence)
        )

    async def _newest_preview(self, chat: ChatKey, run: EntryRun) -> LastMessageRef | None:
        """Return the newest message of the run, or the message that was the newest and that the run changes."""
        messages: dict[int, Entry] = {}
        for sequence in sorted(rules.referenced_messages(run)):
            # Race: the message is changed again before this read, so the row shows newer content under the version of
            # this change. The later change has a higher version, and replaces the preview.
            message = await self._log.one(chat, sequence)
            if message is not None and message.kind is EntryKind.MESSAGE:
                messages[sequence] = message
        found = rules.preview_candidates(run, messages)
        newest = max(found, key=lambda candidate: candidate[:2], default=None)
        return None if newest is None else (await self._previews.of(chat, {newest}))[newest]


def _named_update(user: UserId, entries: Sequence[Entry], large_since: int | None) -> RowUpdate:
    update = rules.row_update_for(user, entries)
    return replace(update, is_large=large_since is not None and entries[-1].sequence >= large_since)
