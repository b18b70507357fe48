"""Explain the evidence: one sentence per recipient, and one for all of them. Pure.

Watermarks prove most, so they decide first; then rows and checkpoints, then the current routes.
"""

from collections.abc import Iterable

from tidings.chats.model import Membership
from tidings.kernel.clock import format_ms, format_ms_or_none
from tidings.kernel.ids import message_id
from tidings.messages.model import EntryKind, Interval, may_see
from tidings.trace import pipeline
from tidings.trace.model import (
    DeviceRoute,
    DeviceTrace,
    Evidence,
    RecipientState,
    RecipientTrace,
    Trace,
    TraceOutcome,
    UserEvidence,
)
from tidings.trace.pushes import trace_pushes

_RECEIVED = frozenset({RecipientState.READ, RecipientState.DELIVERED})
_OFFLINE = frozenset({RecipientState.WAITING, RecipientState.OFFLINE})
_IN_PROGRESS = frozenset({RecipientState.NOT_ACKED, RecipientState.NOT_HANDLED, RecipientState.STALE_ROUTE})

_MAX_LISTED = 5
"""Names in a sentence; the others are counted."""

type StateAndText = tuple[RecipientState, str]
_NOT_FOR_THEM = ": not for them"


def build_trace(found: Evidence) -> Trace:
    entry = found.entry
    recipients = tuple(trace_recipient(found, person) for person in found.users)
    outcome, verdict = overall_outcome(found, recipients)
    return Trace(
        message_id=message_id(found.chat.chat, entry.sequence),
        tenant=found.chat.tenant,
        outcome=outcome,
        verdict=verdict,
        kind=entry.kind,
        sender=entry.sender,
        committed_at=format_ms(entry.created_at_ms),
        edited_at=format_ms_or_none(entry.edited_at_ms),
        redacted_at=format_ms_or_none(entry.redacted_at_ms),
        expires_at=format_ms_or_none(entry.visible_until_ms),
        is_expired=_is_expired(found),
        is_large=found.is_large,
        published=pipeline.publish_status(found),
        handled=pipeline.handling_status(found),
        recipients=recipients,
        has_more_recipients=found.has_more_users,
    )


def trace_recipient(found: Evidence, person: UserEvidence) -> RecipientTrace:
    state, verdict = _recipient_state(found, person)
    row = person.moved.row if person.moved else None
    muted = row.muted_until_ms if row else None
    return RecipientTrace(
        user=person.user,
        state=state,
        verdict=verdict,
        notes=tuple(_notes(found, person)),
        devices=tuple(map(_device, person.connected)),
        row_sequence=row.known.head.sequence if row and row.known.head else None,
        delivered_sequence=(row.delivered_up_to or None) if row else None,
        read_sequence=row.read.sequence if row and row.read else None,
        watermark_moved_at=format_ms_or_none(person.moved.at_ms if person.moved else None),
        last_seen_at=format_ms_or_none(person.last_seen_ms),
        waiting_since=format_ms_or_none(person.queued.since_ms if person.queued else None),
        is_waiting=person.queued is not None,
        muted_until=format_ms_or_none(muted) if muted and muted > found.now_ms else None,
        is_archived=row is not None and row.is_archived,
        pushes=trace_pushes(person.pushes),
    )


def _recipient_state(found: Evidence, person: UserEvidence) -> StateAndText:
    sequence = found.entry.sequence
    if person.membership is None:
        return RecipientState.NOT_RECIPIENT, f"has never been in this chat{_NOT_FOR_THEM}"
    if not may_see(person.membership.intervals, sequence):
        return RecipientState.NOT_RECIPIENT, _outside(person.membership.intervals, sequence)
    if person.user == found.entry.sender:
        return RecipientState.SENDER, "wrote it"
    return _acked(found, person) or _not_acked(found, person)


def _outside(intervals: Iterable[Interval], sequence: int) -> str:
    """Explain why the sequence is in none of the intervals."""
    ended = [i.removed for i in intervals if i.removed is not None and i.removed < sequence]
    joined = [i.joined + 1 for i in intervals if i.joined >= sequence]
    rejoined = f", and rejoined at {min(joined)}" if ended and joined else ""
    if ended:
        return f"left at sequence {max(ended)}{rejoined}{_NOT_FOR_THEM}"
    return f"joined at sequence {min(joined)}, after it{_NOT_FOR_THEM}"


def _acked(found: Evidence, person: UserEvidence) -> StateAndText | None:
    """Apply the rule of the API's message status: a user who writes has read everything before their message."""
    if person.moved is None:
        return None
    row, at_ms = person.moved
    sequence = found.entry.sequence
    when = "" if at_ms is None else f" at or before {format_ms(at_ms)}"
    if row.read_up_to >= sequence:
        has_marked = row.read is not None and row.read.sequence >= sequence
        return (
            RecipientState.READ,
            f"read{when}" if has_marked else "read (implied by a later message of theirs)",
        )
    if row.delivered_up_to >= sequence:
        return RecipientState.DELIVERED, f"delivered to a device{when}, not read"
    return None


def _not_acked(found: Evidence, person: UserEvidence) -> StateAndText:
    if not pipeline.is_row_written(found, person):
        what = "head" if found.is_group else "row"
        return RecipientState.NOT_HANDLED, f"the {what} is not written yet: {pipeline.why_not_handled(found)}"
    if found.redis:
        queued = ", and it waits in the offline queue" if person.queued else ""
        words = f"not acknowledged{queued}; whether a device is connected is not known: {found.redis}"
        return RecipientState.UNKNOWN, words
    if found.mark is not None and found.mark < found.entry.sequence:
        return (
            RecipientState.NOT_HANDLED,
            f"rows are written, the push is outstanding: {pipeline.why_not_handled(found)}",
        )
    return _after_handling(found, person)


def _after_handling(found: Evidence, person: UserEvidence) -> StateAndText:
    reachable = [each for each in person.connected if each.has_subscriber]
    if reachable:
        return RecipientState.NOT_ACKED, _sent_to(found, reachable)
    if person.queued:
        since = person.queued.since_ms
        when = "" if since is None else f" since {format_ms(since)}"
        return RecipientState.WAITING, f"waits in the offline queue{when}: {_not_reachable(person)}"
    if person.connected:
        return RecipientState.STALE_ROUTE, f"{_not_reachable(person)}; delivered when it reconnects"
    return (
        RecipientState.OFFLINE,
        f"{_not_reachable(person)}; delivered when one connects, {_not_queued(found)}",
    )


def _sent_to(found: Evidence, reachable: list[DeviceRoute]) -> str:
    """Explain how the message was sent: with the resume of a later connection, or by a push to an earlier one."""
    names = _listed(each.device for each in reachable)
    first = min(reachable, key=lambda each: each.since_ms)
    since = format_ms(first.since_ms)
    if first.since_ms > found.entry.created_at_ms:
        return f"sent with the resume to {names}, connected since {since}; not acknowledged"
    if found.mark is None:
        return f"{names} connected since {since}; whether it was pushed is no longer known; not acknowledged"
    return f"pushed to {names}, connected since {since}; not acknowledged"


def _not_reachable(person: UserEvidence) -> str:
    connected = person.connected
    if not connected and person.last_seen_ms is not None:
        return f"no device is connected (last seen at {format_ms(person.last_seen_ms)})"
    if not connected:
        return "no device is connected (when one last was is not known)"
    gateways = _listed(sorted({each.gateway for each in connected}))
    names = _listed(each.device for each in connected)
    return (
        f"no device can be reached: the route of {names} points to gateway {gateways}, which is not running"
    )


def _not_queued(found: Evidence) -> str:
    if found.entry.kind is not EntryKind.MESSAGE:
        return f"as only messages are queued and this is a {found.entry.kind}"
    if found.is_group:
        return "as groups have no offline queue"
    return "though the offline queue no longer has it"


def _notes(found: Evidence, person: UserEvidence) -> Iterable[str]:
    if person.membership is not None:
        yield from _blocks(person.membership)
    row = person.moved.row if person.moved else None
    if row is not None and row.muted_until_ms is not None and row.muted_until_ms > found.now_ms:
        yield f"has muted the chat until {format_ms(row.muted_until_ms)}: push services see that"
    if row is not None and row.is_archived:
        yield "has archived the chat"


def _blocks(row: Membership) -> Iterable[str]:
    """Note blocks. A block refuses later messages; messages committed before it are delivered."""
    if row.blocks_other:
        yield "blocks the other member now: messages sent during a block are refused; this one was not"
    if row.blocked_by_other:
        yield "is blocked by the other member now"


def overall_outcome(found: Evidence, recipients: tuple[RecipientTrace, ...]) -> tuple[TraceOutcome, str]:
    outcome, verdict = _overall(found, recipients)
    if found.entry.redacted_at_ms is not None:
        verdict += f" It was redacted at {format_ms(found.entry.redacted_at_ms)}: its content was deleted."
    elif _is_expired(found):
        verdict += f" It expired at {format_ms(found.entry.visible_until_ms or 0)}: its content is hidden."
    return outcome, verdict


def _overall(found: Evidence, recipients: tuple[RecipientTrace, ...]) -> tuple[TraceOutcome, str]:
    theirs = [
        each for each in recipients if each.state not in {RecipientState.NOT_RECIPIENT, RecipientState.SENDER}
    ]
    if found.is_large and not found.users:
        return _unlisted(found)
    if not theirs:
        return TraceOutcome.ARRIVED, f"There are no other recipients.{_not_for(recipients)}"
    if any(each.state is RecipientState.NOT_HANDLED for each in theirs):
        return TraceOutcome.IN_PROGRESS, f"Committed, not handled yet: {pipeline.why_not_handled(found)}."
    return _how_many(found, theirs)


def _not_for(recipients: tuple[RecipientTrace, ...]) -> str:
    """Name the users who left before the message or joined after it. They are what a sender asks about."""
    others = [each for each in recipients if each.state is RecipientState.NOT_RECIPIENT]
    reasons = [f"{each.user}, who {each.verdict.removesuffix(_NOT_FOR_THEM)}" for each in others]
    return f" Not for {'; '.join(reasons[:_MAX_LISTED])}." if reasons else ""


def _how_many(found: Evidence, theirs: list[RecipientTrace]) -> tuple[TraceOutcome, str]:
    received, read = (
        sum(each.state in some for each in theirs) for some in (_RECEIVED, {RecipientState.READ})
    )
    counted = f"{received} of {len(theirs)} have it, {read} have read it"
    if in_progress := [each.user for each in theirs if each.state in _IN_PROGRESS]:
        return TraceOutcome.IN_PROGRESS, f"On its way to {_listed(in_progress)}: {counted}."
    if unknown := [each.user for each in theirs if each.state is RecipientState.UNKNOWN]:
        return TraceOutcome.UNKNOWN, f"Not known for {_listed(unknown)}: {found.redis}. Of all, {counted}."
    if waiting := [each.user for each in theirs if each.state in _OFFLINE]:
        return TraceOutcome.WAITING, f"Waits for {_listed(waiting)} to connect: {counted}."
    return TraceOutcome.ARRIVED, f"Arrived: {counted}."


def _unlisted(found: Evidence) -> tuple[TraceOutcome, str]:
    hint = "use --user to trace it for one member"
    if pipeline.is_head_written(found):
        return TraceOutcome.UNLISTED, f"Handled. The members of a large chat are not listed: {hint}."
    return TraceOutcome.IN_PROGRESS, f"Committed, not handled yet: {pipeline.why_not_handled(found)}."


def _is_expired(found: Evidence) -> bool:
    until_ms = found.entry.visible_until_ms
    return until_ms is not None and until_ms <= found.now_ms


def _device(each: DeviceRoute) -> DeviceTrace:
    return DeviceTrace(
        id=each.device,
        gateway=each.gateway,
        connected_since=format_ms(each.since_ms),
        is_gateway_there=each.has_subscriber,
    )


def _listed(names: Iterable[str]) -> str:
    every = list(names)
    more = f" and {len(every) - _MAX_LISTED} others" if len(every) > _MAX_LISTED else ""
    return ", ".join(every[:_MAX_LISTED]) + more
