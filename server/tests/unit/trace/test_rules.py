"""The verdict for each kind of evidence. Anna sent the message with sequence 40."""

from typing import Any

import pytest
from msgspec.structs import replace

from tidings.chats.model import Membership, Role
from tidings.connections.model import GatewayId
from tidings.delivery.model import ChatRow, LogPosition, RowUpdate
from tidings.kernel.clock import format_ms
from tidings.kernel.ids import ChatId, ChatKey, ClientKey, DeviceId, TenantId, UserId
from tidings.messages.model import Entry, EntryKind, Interval
from tidings.trace import rules
from tidings.trace.model import (
    DeviceRoute,
    Evidence,
    FoundEvent,
    OfflineQueueItem,
    PartitionState,
    RecipientState,
    RowWithTimes,
    TraceOutcome,
    UserEvidence,
)

T0 = 1_800_000_000_000
SENT, LATER, NOW = T0, T0 + 60_000, T0 + 120_000
ANNA, BEN, CLEO = (UserId(name) for name in ("anna", "ben", "cleo"))
ENTRY = Entry(
    sequence=40,
    ordinal=39,
    kind=EntryKind.MESSAGE,
    sender=ANNA,
    client_key=ClientKey("k"),
    fingerprint=b"",
    created_at_ms=SENT,
    content=b"what nobody may see here",
)
HANDLED = Evidence(
    chat=ChatKey(TenantId("acme"), ChatId("dA")),
    entry=ENTRY,
    now_ms=NOW,
    mark=40,
    topic=PartitionState(partition=3, end=812, committed=812, event=FoundEvent(811, SENT + 20), searched=1),
)
GROUP = replace(HANDLED, chat=ChatKey(TenantId("acme"), ChatId("gA")), head=40)
BEHIND = replace(
    HANDLED,
    mark=39,
    topic=PartitionState(partition=3, end=2_000, committed=800, event=FoundEvent(811, SENT), searched=9),
)
CONNECTED = (DeviceRoute(DeviceId("phone"), GatewayId("g1"), SENT - 5_000, True),)  # noqa: FBT003 - as it is read
CONNECTED_LATER = (DeviceRoute(DeviceId("phone"), GatewayId("g1"), LATER, True),)  # noqa: FBT003 - as it is read
STALE = (DeviceRoute(DeviceId("phone"), GatewayId("g1"), SENT - 5_000, False),)  # noqa: FBT003 - as it is read


def person(user: UserId = BEN, *stays: Interval, **more: Any) -> UserEvidence:
    row = Membership(user=user, role=Role.MEMBER, intervals=stays or (Interval(0),))
    return UserEvidence(user=user, membership=row, **more)


def moved(head: int = 40, delivered: int = 0, read: int = 0, **more: Any) -> RowWithTimes:
    row = ChatRow(
        chat=ChatId("dA"),
        known=RowUpdate(head=LogPosition(head, head)),
        delivered=LogPosition(delivered, delivered) if delivered else None,
        read=LogPosition(read, read) if read else None,
        **more,
    )
    return RowWithTimes(row, LATER)


def wrote(own: int, **more: Any) -> RowWithTimes:
    before = moved(**more)
    return before._replace(
        row=replace(before.row, known=replace(before.row.known, own=LogPosition(own, own)))
    )


def traced(found: Evidence, recipient: UserEvidence) -> tuple[RecipientState, str]:
    trace = rules.trace_recipient(found, recipient)
    return trace.state, trace.verdict


@pytest.mark.parametrize(
    ("found", "recipient", "state", "words"),
    [
        (HANDLED, person(moved=moved(read=40)), RecipientState.READ, f"read at or before {format_ms(LATER)}"),
        (HANDLED, person(moved=moved(read=39, delivered=41)), RecipientState.DELIVERED, "delivered to a device"),
        (HANDLED, person(ANNA, moved=moved()), RecipientState.SENDER, "wrote it"),
        (HANDLED, person(BEN, Interval(0, 39)), RecipientState.NOT_RECIPIENT, "left at sequence 39: not for them"),
        (HANDLED, person(BEN, Interval(0, 9), Interval(50)), RecipientState.NOT_RECIPIENT, "left at sequence 9, and rejoined at 51"),
        (HANDLED, person(BEN, Interval(40)), RecipientState.NOT_RECIPIENT, "joined at sequence 41, after it"),
        (HANDLED, UserEvidence(user=BEN, membership=None), RecipientState.NOT_RECIPIENT, "has never been in this chat"),
        (HANDLED, person(BEN, Interval(39), moved=moved(read=40)), RecipientState.READ, "read"),
        (HANDLED, person(BEN, Interval(0, 40), moved=moved(read=40)), RecipientState.READ, "read"),
        (BEHIND, person(), RecipientState.NOT_HANDLED, "delivery is 1,200 events behind on partition 3, 11 of them before"),
        (BEHIND, person(moved=moved(39)), RecipientState.NOT_HANDLED, "the row is not written yet"),
        (BEHIND, person(moved=moved(40), connected=CONNECTED), RecipientState.NOT_HANDLED, "rows are written, the push is outstanding"),
        (HANDLED, person(moved=moved(), connected=CONNECTED), RecipientState.NOT_ACKED, "pushed to phone, connected since"),
        (HANDLED, person(moved=moved(), connected=CONNECTED_LATER), RecipientState.NOT_ACKED, "sent with the resume to phone"),
        (HANDLED, person(moved=moved(), connected=(*STALE, *CONNECTED_LATER)), RecipientState.NOT_ACKED, "sent with the resume to phone"),
        (replace(HANDLED, mark=None), person(moved=moved(), connected=CONNECTED), RecipientState.NOT_ACKED, "no longer known"),
        (HANDLED, person(moved=moved(), connected=STALE), RecipientState.STALE_ROUTE, "points to gateway g1, which is not running"),
        (HANDLED, person(moved=moved(), queued=OfflineQueueItem(LATER)), RecipientState.WAITING, f"waits in the offline queue since {format_ms(LATER)}"),
        (HANDLED, person(moved=moved(), queued=OfflineQueueItem(None)), RecipientState.WAITING, "waits in the offline queue: no device"),
        (HANDLED, person(moved=moved(), queued=OfflineQueueItem(LATER), connected=STALE), RecipientState.WAITING, "which is not running"),
        (HANDLED, person(moved=moved(), last_seen_ms=LATER), RecipientState.OFFLINE, f"(last seen at {format_ms(LATER)})"),
        (HANDLED, person(moved=wrote(41)), RecipientState.READ, "read (implied by a later message of theirs)"),
        (HANDLED, person(moved=wrote(41, delivered=40)), RecipientState.READ, "read (implied"),
        (HANDLED, person(moved=wrote(39, delivered=40)), RecipientState.DELIVERED, "not read"),
        (HANDLED, person(moved=moved()), RecipientState.OFFLINE, "the offline queue no longer has it"),
        (replace(HANDLED, entry=replace(ENTRY, kind=EntryKind.RENAME)), person(moved=moved()), RecipientState.OFFLINE, "only messages are queued"),
        (GROUP, person(moved=moved(7)), RecipientState.OFFLINE, "groups have no offline queue"),
        (GROUP, person(), RecipientState.OFFLINE, "groups have no offline queue"),
        (GROUP, person(moved=moved(7), connected=CONNECTED), RecipientState.NOT_ACKED, "pushed to phone"),
        (replace(GROUP, head=39), person(moved=moved(41)), RecipientState.NOT_HANDLED, "the head is not written"),
        (replace(GROUP, is_large=True), person(moved=moved(7)), RecipientState.OFFLINE, "groups have no offline queue"),
        (replace(HANDLED, mark=None, redis="Redis: away"), person(moved=moved()), RecipientState.UNKNOWN, "is not known: Redis: away"),
    ],
)  # fmt: skip
def test_verdict_of_a_recipient(
    found: Evidence, recipient: UserEvidence, state: RecipientState, words: str
) -> None:
    actual_state, verdict = traced(found, recipient)
    assert (actual_state, words in verdict) == (state, True), verdict


@pytest.mark.parametrize(
    ("found", "people", "outcome", "words"),
    [
        (HANDLED, [person(moved=moved(read=40)), person(CLEO, moved=moved(delivered=40))], TraceOutcome.ARRIVED,
         "Arrived: 2 of 2 have it, 1 have read it."),
        (HANDLED, [person(ANNA, moved=moved())], TraceOutcome.ARRIVED, "There are no other recipients."),
        (
            GROUP,
            [person(ANNA), person(BEN, Interval(0, 30)), person(CLEO, Interval(50))],
            TraceOutcome.ARRIVED,
            "There are no other recipients. Not for ben, who left at sequence 30; cleo, who joined at sequence 51, after it.",
        ),
        (HANDLED, [person(BEN, Interval(0, 9)), person(CLEO, moved=moved(read=40))], TraceOutcome.ARRIVED, "1 of 1"),
        (HANDLED, [person(moved=moved(), queued=OfflineQueueItem(LATER)), person(CLEO, moved=moved(read=40))], TraceOutcome.WAITING,
         "Waits for ben to connect: 1 of 2 have it"),
        (HANDLED, [person(moved=moved(), connected=CONNECTED), person(CLEO, moved=moved())], TraceOutcome.IN_PROGRESS,
         "On its way to ben: 0 of 2"),
        (HANDLED, [person(moved=moved(), connected=STALE)], TraceOutcome.IN_PROGRESS, "On its way to ben"),
        (BEHIND, [person(), person(CLEO, moved=moved(read=40))], TraceOutcome.IN_PROGRESS, "Committed, not handled yet: delivery is 1,200"),
        (replace(HANDLED, mark=None, redis="Redis: away"), [person(moved=moved())], TraceOutcome.UNKNOWN, "Not known for ben: Redis: away"),
        (replace(HANDLED, mark=None, redis="Redis: away"), [person(moved=moved(read=40))], TraceOutcome.ARRIVED, "Arrived"),
        (GROUP, [person(moved=moved(1)), person(CLEO, moved=moved(1, read=40))], TraceOutcome.WAITING, "Waits for ben to connect: 1 of 2"),
        (replace(GROUP, is_large=True, head=41), [], TraceOutcome.UNLISTED, "--user"),
        (replace(BEHIND, chat=GROUP.chat, is_large=True, head=39), [], TraceOutcome.IN_PROGRESS, "not handled yet"),
        (replace(HANDLED, entry=replace(ENTRY, redacted_at_ms=LATER)), [person(moved=moved(read=40))], TraceOutcome.ARRIVED,
         f"It was redacted at {format_ms(LATER)}"),
        (replace(HANDLED, entry=replace(ENTRY, visible_until_ms=LATER)), [person(moved=moved(read=40))], TraceOutcome.ARRIVED,
         f"It expired at {format_ms(LATER)}"),
        (HANDLED, [person(UserId(f"u{n}"), moved=moved()) for n in range(7)], TraceOutcome.WAITING, "u4 and 2 others to connect"),
    ],
)  # fmt: skip
def test_verdict_of_all_recipients(
    found: Evidence, people: list[UserEvidence], outcome: TraceOutcome, words: str
) -> None:
    trace = rules.build_trace(replace(found, users=tuple(people)))
    assert (trace.outcome, words in trace.verdict) == (outcome, True), trace.verdict


@pytest.mark.parametrize(
    ("found", "is_handled", "words"),
    [
        (HANDLED, True, "handled up to 40"),
        (replace(HANDLED, mark=55), True, "handled up to 55"),
        (BEHIND, False, "handled up to 39; delivery is 1,200 events behind"),
        (replace(HANDLED, mark=None, users=(person(moved=moved()),)), None, "no longer known: Redis has no checkpoint"),
        (replace(HANDLED, mark=None, redis="Redis: away"), None, "no longer known: Redis: away"),
        (replace(BEHIND, mark=None, users=(person(),)), False, "not yet"),
        (replace(GROUP, mark=None), None, "no longer known: Redis has no checkpoint"),
        (replace(GROUP, mark=None, head=39), False, "not yet"),
        (replace(BEHIND, mark=39, topic=None, kafka="Kafka: away"), False, "is not known: Kafka: away"),
        (replace(HANDLED, mark=39), False, "delivery has passed its event at offset 811 of partition 3"),
        (replace(HANDLED, mark=39, topic=PartitionState(partition=3, end=5, committed=5)), False, "it was not published"),
    ],
)  # fmt: skip
def test_handled(found: Evidence, is_handled: bool | None, words: str) -> None:  # noqa: FBT001 - a column
    trace = rules.build_trace(found).handled
    assert (trace.is_handled, words in trace.verdict) == (is_handled, True), trace.verdict


@pytest.mark.parametrize(
    ("topic", "kafka", "offset", "words"),
    [
        (HANDLED.topic, "", 811, "at offset 811 of partition 3"),
        (PartitionState(partition=3, end=5, committed=5, searched=17), "", None, "not found among 17 events"),
        (
            PartitionState(partition=3, end=5, committed=5, searched=None),
            "",
            None,
            "no longer known: the message is older than the retention",
        ),
        (None, "Kafka: away", None, "not known: Kafka: away"),
    ],
)
def test_published(topic: PartitionState | None, kafka: str, offset: int | None, words: str) -> None:
    trace = rules.build_trace(replace(HANDLED, topic=topic, kafka=kafka)).published
    assert (trace.offset, words in trace.verdict) == (offset, True), trace.verdict


def test_flags_and_blocks_of_a_member_are_notes() -> None:
    row = Membership(
        user=BEN, role=Role.MEMBER, intervals=(Interval(0),), blocks_other=True, blocked_by_other=True
    )
    quiet = moved(delivered=40, muted_until_ms=NOW + 1, is_archived=True)
    trace = rules.trace_recipient(HANDLED, UserEvidence(user=BEN, membership=row, moved=quiet))
    assert trace.state is RecipientState.DELIVERED
    assert [note.split()[0:2] for note in trace.notes] == [
        ["blocks", "the"],
        ["is", "blocked"],
        ["has", "muted"],
        ["has", "archived"],
    ]
    assert trace.muted_until == format_ms(NOW + 1)


def test_an_expired_mute_is_not_noted() -> None:
    trace = rules.trace_recipient(HANDLED, person(moved=moved(delivered=40, muted_until_ms=NOW - 1)))
    assert (trace.notes, trace.muted_until) == ((), None)


def test_a_trace_never_has_the_content() -> None:
    """Holds for fields that are added later, too."""
    import msgspec  # noqa: PLC0415 - used here alone

    trace = msgspec.json.encode(rules.build_trace(replace(HANDLED, users=(person(moved=moved()),))))
    assert b"what nobody" not in trace
    assert b"d2hhdCBub2JvZHk" not in trace
