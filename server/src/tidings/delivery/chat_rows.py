"""The few words of a message that stand in a chat list, sealed for the message's own place."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from tidings.chats.model import ChatType, Membership, chat_type
from tidings.delivery import rules
from tidings.delivery.model import LastMessageRef, LogPosition, RowUpdate
from tidings.delivery.ports import (
    AudienceReader,
    ChatRowWriter,
    DeliveryKeys,
    LogReader,
    OpeningKeys,
    PreviewText,
    SealingKeys,
)
from tidings.delivery.rules import EntryRun, PreviewCandidate
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, UserId
from tidings.messages.model import Entry, EntryKind, may_see
from tidings.schema.tables.limits import PREVIEW_BYTES


class Previews:
    """`words` says what a body says; only the messages' own code knows how it is spelled."""

    def __init__(self, keys: DeliveryKeys, words: PreviewText) -> None:
        self._keys = keys
        self._words = words

    async def of(
        self, chat: ChatKey, wanted: Collection[PreviewCandidate]
    ) -> Mapping[PreviewCandidate, LastMessageRef]:
        """Opened and sealed once for each message, whatever the number of rows that show it."""
        contents = [c.said.content for c in wanted if c.said.content is not None]
        if not contents:
            return {candidate: with_preview(candidate, None) for candidate in wanted}
        opening = await self._keys.to_read(chat.tenant, contents)
        sealing = await self._keys.of(chat.tenant)
        return {c: with_preview(c, self._preview(chat, c, opening, sealing)) for c in wanted}

    def _preview(
        self, chat: ChatKey, candidate: PreviewCandidate, opening: OpeningKeys, sealing: SealingKeys
    ) -> bytes | None:
        said = candidate.said
        if said.content is None:
            return None
        try:
            text = self._words(opening.unseal(chat, said.sequence, said.content))
        except TidingsError as error:
            if error.code is not Code.DECRYPTION_FAILED:
                raise
            # one message that somebody altered must not hold up the rows of its chat
            text = ""
        return sealing.seal_preview(chat, said.sequence, truncate(text))


def with_preview(candidate: PreviewCandidate, preview: bytes | None) -> LastMessageRef:
    """What expires shows no words, so that none outlive it; neither does what was redacted."""
    said = candidate.said
    is_redacted = said.redacted_at_ms is not None
    until_ms = None if is_redacted else said.visible_until_ms
    return LastMessageRef(
        sequence=candidate.sequence,
        version=candidate.version,
        at_ms=said.created_at_ms,
        sender=said.sender,
        preview=None if is_redacted or until_ms is not None else preview,
        expires_at_s=None if until_ms is None else -(-until_ms // 1000),
    )


def truncate(text: str) -> bytes:
    """Never in the middle of a character."""
    return text.encode()[:PREVIEW_BYTES].decode(errors="ignore").encode()


class MissedRange(NamedTuple):
    """Entries of `(after, up_to]` that some row should have had before and did not: read and handle them."""

    after: int
    up_to: int


class _Facts(NamedTuple):
    """What is known of a run, whoever it is for."""

    run: EntryRun
    found: list[PreviewCandidate]
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
        """Coalesced: one write for each row and run, however many entries it has."""
        first_missed: list[int] = []
        top = 0
        for run in rules.split_runs(entries):
            missed = await self._handle_run(chat, run)
            if missed is not None:
                first_missed.append(missed)
                top = run[0].sequence - 1
        return MissedRange(min(first_missed) - 1, top) if first_missed else None

    async def _handle_run(self, chat: ChatKey, run: EntryRun) -> int | None:
        crowd = await self._audience.of(chat, run[-1].sequence)
        since = crowd.large_since
        if since is None:
            return await self._small(chat, run, crowd.members)
        small = [entry for entry in run if entry.sequence <= since]
        large = run[len(small) :]
        missed = None
        if small:
            members = await self._audience.everyone(chat)
            becomes_large = small[-1].sequence == since
            missed = await self._small(chat, small, members, is_large=becomes_large)
            if becomes_large:
                # after every row: who finds a head knows that the rows have been told that the chat is large
                await self._writer.raise_head(chat, RowUpdate(head=LogPosition(since, small[-1].ordinal)))
        if large:
            missed = _lower(missed, await self._large(chat, large, since))
        return missed

    async def _small(
        self, chat: ChatKey, run: EntryRun, members: Sequence[Membership], *, is_large: bool = False
    ) -> int | None:
        """Every member's row. `is_large`: with the run's last entry the chat became large."""
        facts = await self._facts(chat, run)
        shows = {m.user: rules.visible_candidate(m.intervals, facts.found) for m in members}
        mends = [(m.user, c) for m in members for c in facts.changed if rules.may_still_show(m.intervals, c)]
        wanted = {c for c in shows.values() if c is not None} | {c for _, c in mends}
        shown = await self._previews.of(chat, wanted)

        async def raise_row(member: Membership, reached: Sequence[Entry]) -> int | None:
            shows_now = shows[member.user]
            news = _news(chat, member.user, reached, shown[shows_now] if shows_now else None, members)
            is_there = is_large and reached[-1].sequence == run[-1].sequence
            had = await self._writer.raise_row(chat, member.user, replace(news, is_large=is_there))
            return rules.first_missed(member.intervals, had, run)

        reached = [(m, rules.entries_visible_to(m.intervals, run)) for m in members]
        missed = await gather_limited(raise_row(m, entries) for m, entries in reached if entries)
        await gather_limited(
            self._writer.repair_row(chat, user, RowUpdate(shown=shown[c])) for user, c in mends
        )
        return min((n for n in missed if n is not None), default=None)

    async def _large(self, chat: ChatKey, run: EntryRun, since: int) -> int | None:
        """One head for all, and the rows of those whom an entry names or who wrote it."""
        facts = await self._facts(chat, run)
        newest = max(facts.found, key=lambda c: c[:2], default=None)
        taken = [c for c in facts.changed if c.sequence <= since and c.said.redacted_at_ms is not None]
        shown = await self._previews.of(chat, {c for c in (newest, *taken) if c is not None})
        own = rules.entries_by_affected_user(run)
        news = [
            (user, replace(rules.row_update_for(user, entries), is_large=True))
            for user, entries in own.items()
        ]
        await gather_limited(self._writer.raise_row(chat, user, each) for user, each in news)
        for change in taken:
            await self._take_from_all(chat, change, shown[change])
        top = rules.row_update_for(UserId(""), run)
        had = await self._writer.raise_head(chat, replace(top, shown=shown[newest] if newest else None))
        if had < since:
            return since
        return had + 1 if had + 1 < run[0].sequence else None

    async def _take_from_all(self, chat: ChatKey, change: PreviewCandidate, shown: LastMessageRef) -> None:
        """A redaction of what was said before the chat was large: rows of that time may show it still."""
        members = await self._audience.everyone(chat)
        saw = [m.user for m in members if may_see(m.intervals, change.sequence)]
        await gather_limited(self._writer.repair_row(chat, user, RowUpdate(shown=shown)) for user in saw)

    async def _facts(self, chat: ChatKey, run: EntryRun) -> _Facts:
        messages: dict[int, Entry] = {}
        for sequence in sorted(rules.referenced_messages(run)):
            message = await self._log.one(chat, sequence)
            if message is not None and message.kind is EntryKind.MESSAGE:
                messages[sequence] = message
        return _Facts(run, rules.preview_candidates(run, messages), rules.changed_messages(run, messages))


def _news(
    chat: ChatKey,
    user: UserId,
    reached: Sequence[Entry],
    shown: LastMessageRef | None,
    members: Sequence[Membership],
) -> RowUpdate:
    news = replace(rules.row_update_for(user, reached), shown=shown)
    if chat_type(chat.chat) is not ChatType.DIRECT:
        return news
    return replace(news, other=next((m.user for m in members if m.user != user), None))


def _lower(one: int | None, other: int | None) -> int | None:
    return min((n for n in (one, other) if n is not None), default=None)
