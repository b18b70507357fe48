"""Project entries onto chat rows and heads: step 2 of the worker."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from tidings.chats.model import ChatType, Membership, chat_type
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


class _RunPreviews(NamedTuple):
    """The preview candidates of a run, for all members."""

    candidates: list[PreviewCandidate]
    changed: list[PreviewCandidate]


class ChatRowProjector:
    def __init__(
        self, writer: ChatRowWriter, audience: AudienceReader, log: LogReader, previews: Previews
    ) -> None:
        self._writer = writer
        self._audience = audience
        self._log = log
        self._previews = previews

    async def handle(self, chat: ChatKey, entries: Sequence[Entry]) -> MissedRange | None:
        """Write the rows and heads of entries, one write per row and run. Return entries that rows had missed."""
        # Race: after a rebalance, the previous and the new worker of a partition may write the same rows. Every write
        # is conditional on newer parts, so the order of the two does not matter.
        first_missed: list[int] = []
        up_to = 0
        for run in rules.split_runs(entries):
            missed = await self._handle_run(chat, run)
            if missed is not None:
                first_missed.append(missed)
                up_to = run[0].sequence - 1
        return MissedRange(min(first_missed) - 1, up_to) if first_missed else None

    async def _handle_run(self, chat: ChatKey, run: EntryRun) -> int | None:
        audience = await self._audience.of(chat, run[-1].sequence)
        since = audience.large_since
        if since is None:
            return await self._small(chat, run, audience.members)
        small = [entry for entry in run if entry.sequence <= since]
        large = run[len(small) :]
        missed = None
        if small:
            members = await self._audience.everyone(chat)
            becomes_large = small[-1].sequence == since
            missed = await self._small(chat, small, members, is_large=becomes_large)
            if becomes_large:
                # Race: a gateway resumes a member while the worker writes. A gateway that finds a head relies on
                # `is_large` being set in every row, so the worker writes the head after all rows.
                await self._writer.raise_head(chat, RowUpdate(head=LogPosition(since, small[-1].ordinal)))
        if large:
            missed = _lower(missed, await self._large(chat, large, since))
        return missed

    async def _small(
        self, chat: ChatKey, run: EntryRun, members: Sequence[Membership], *, is_large: bool = False
    ) -> int | None:
        """Write the row of every member. `is_large`: the chat becomes large with the last entry of the run."""
        found = await self._run_previews(chat, run)
        shows = {m.user: rules.visible_candidate(m.intervals, found.candidates) for m in members}
        repairs = [
            (m.user, c) for m in members for c in found.changed if rules.may_still_show(m.intervals, c)
        ]
        wanted = {c for c in shows.values() if c is not None} | {c for _, c in repairs}
        shown = await self._previews.of(chat, wanted)

        async def raise_row(member: Membership, reached: Sequence[Entry]) -> int | None:
            candidate = shows[member.user]
            update = _row_update(chat, member.user, reached, shown[candidate] if candidate else None, members)
            # Race: a device resumes while the chat becomes large. If it read the new sequence without `is_large`, it
            # would not subscribe, and it would ignore the push of this entry, which has the flag, as old. So one write
            # sets both parts.
            receives_last = is_large and reached[-1].sequence == run[-1].sequence
            before = await self._writer.raise_row(chat, member.user, replace(update, is_large=receives_last))
            return rules.first_missed(member.intervals, before, run)

        reached = [(m, rules.entries_visible_to(m.intervals, run)) for m in members]
        missed = await gather_limited(raise_row(m, entries) for m, entries in reached if entries)
        await gather_limited(
            self._writer.repair_row(chat, user, RowUpdate(shown=shown[c])) for user, c in repairs
        )
        return min((n for n in missed if n is not None), default=None)

    async def _large(self, chat: ChatKey, run: EntryRun, since: int) -> int | None:
        """Write one head for all members, after the rows of users who sent, joined or left."""
        found = await self._run_previews(chat, run)
        newest = max(found.candidates, key=lambda c: c[:2], default=None)
        redacted = [c for c in found.changed if c.sequence <= since and c.message.redacted_at_ms is not None]
        shown = await self._previews.of(chat, {c for c in (newest, *redacted) if c is not None})
        updates = [
            (user, replace(rules.row_update_for(user, entries), is_large=True))
            for user, entries in rules.entries_by_affected_user(run).items()
        ]
        await gather_limited(self._writer.raise_row(chat, user, update) for user, update in updates)
        for change in redacted:
            await self._redact_rows(chat, change, shown[change])
        # Race: a gateway reads rows, then heads, while the worker writes. A head at n must prove that the rows of users
        # who joined or left up to n are written, so the worker writes the head after them.
        head = rules.row_update_for(UserId(""), run)
        before = await self._writer.raise_head(chat, replace(head, shown=shown[newest] if newest else None))
        if before < since:
            return since
        return before + 1 if before + 1 < run[0].sequence else None

    async def _redact_rows(self, chat: ChatKey, change: PreviewCandidate, shown: LastMessageRef) -> None:
        """Redact a message from before the chat became large: the rows of that time may still show it."""
        members = await self._audience.everyone(chat)
        users = [m.user for m in members if may_see(m.intervals, change.sequence)]
        await gather_limited(self._writer.repair_row(chat, user, RowUpdate(shown=shown)) for user in users)

    async def _run_previews(self, chat: ChatKey, run: EntryRun) -> _RunPreviews:
        messages: dict[int, Entry] = {}
        for sequence in sorted(rules.referenced_messages(run)):
            # Race: the message is changed again before this read, so the row shows newer content under the version of
            # this change. The later change has a higher version, and replaces the preview.
            message = await self._log.one(chat, sequence)
            if message is not None and message.kind is EntryKind.MESSAGE:
                messages[sequence] = message
        return _RunPreviews(rules.preview_candidates(run, messages), rules.changed_messages(run, messages))


def _row_update(
    chat: ChatKey,
    user: UserId,
    reached: Sequence[Entry],
    shown: LastMessageRef | None,
    members: Sequence[Membership],
) -> RowUpdate:
    update = replace(rules.row_update_for(user, reached), shown=shown)
    if chat_type(chat.chat) is not ChatType.DIRECT:
        return update
    return replace(update, other=next((m.user for m in members if m.user != user), None))


def _lower(one: int | None, other: int | None) -> int | None:
    return min((n for n in (one, other) if n is not None), default=None)
