"""What each piece of evidence makes of a verdict, by table. A message of anna's at sequence 40."""

from typing import Any

import pytest
from msgspec.structs import replace

from tidings.chats.model import Interval, Membership, Role
from tidings.delivery.model import Mark, News, Row
from tidings.kernel.clock import time_text
from tidings.kernel.ids import ChatId, ChatKey, ClientKey, DeviceId, TenantId, UserId
from tidings.messages.model import Entry, Kind
from tidings.routing.model import GatewayId
from tidings.whereabouts import rules
from tidings.whereabouts.model import (
    Connected,
    Event,
    Evidence,
    Kept,
    Moved,
    Outcome,
    Person,
    State,
    Topic,
)

T0 = 1_800_000_000_000
SENT, LATER, NOW = T0, T0 + 60_000, T0 + 120_000
ANNA, BEN, CLEO = (UserId(name) for name in ("anna", "ben", "cleo"))
ENTRY = Entry(
    sequence=40,
    ordinal=39,
    kind=Kind.MESSAGE,
    sender=ANNA,
    client_key=ClientKey("k"),
    fingerprint=b"",
    created_at_ms=SENT,
    content=b"what nobody may see here",
)
HANDLED = Evidence(
    chat=ChatKey(TenantId("acme"), ChatId("gA")),
    entry=ENTRY,
    now_ms=NOW,
    mark=40,
    topic=Topic(partition=3, end=812, committed=812, event=Event(811, SENT + 20), searched=1),
)
BEHIND = replace(
    HANDLED, mark=39, topic=Topic(partition=3, end=2_000, committed=800, event=Event(811, SENT), searched=9)
)
HERE = (Connected(DeviceId("phone"), GatewayId("g1"), SENT - 5_000, True),)  # noqa: FBT003 - as it is read
CAME = (Connected(DeviceId("phone"), GatewayId("g1"), LATER, True),)  # noqa: FBT003 - as it is read
DEAD = (Connected(DeviceId("phone"), GatewayId("g1"), SENT - 5_000, False),)  # noqa: FBT003 - as it is read


def person(user: UserId = BEN, *stays: Interval, **more: Any) -> Person:
    row = Membership(user=user, role=Role.MEMBER, intervals=stays or (Interval(0),))
    return Person(user=user, membership=row, **more)


def moved(head: int = 40, delivered: int = 0, read: int = 0, **more: Any) -> Moved:
    row = Row(
        chat=ChatId("gA"),
        known=News(head=Mark(head, head)),
        delivered=Mark(delivered, delivered) if delivered else None,
        read=Mark(read, read) if read else None,
        **more,
    )
    return Moved(row, LATER)


def wrote(own: int, **more: Any) -> Moved:
    before = moved(**more)
    return before._replace(row=replace(before.row, known=replace(before.row.known, own=Mark(own, own))))


def judged(found: Evidence, who: Person) -> tuple[State, str]:
    told = rules.recipient(found, who)
    return told.state, told.verdict


@pytest.mark.parametrize(
    ("found", "who", "state", "words"),
    [
        (HANDLED, person(moved=moved(read=40)), State.READ, f"read at or before {time_text(LATER)}"),
        (HANDLED, person(moved=moved(read=39, delivered=41)), State.DELIVERED, "delivered to a device"),
        (HANDLED, person(ANNA, moved=moved()), State.WROTE, "wrote it"),
        (HANDLED, person(BEN, Interval(0, 39)), State.NOT_FOR, "left at sequence 39: not for them"),
        (HANDLED, person(BEN, Interval(0, 9), Interval(50)), State.NOT_FOR, "left at sequence 9, and came back at 51"),
        (HANDLED, person(BEN, Interval(40)), State.NOT_FOR, "joined at sequence 41, after it"),
        (HANDLED, Person(user=BEN, membership=None), State.NOT_FOR, "has never been in this chat"),
        (HANDLED, person(BEN, Interval(39), moved=moved(read=40)), State.READ, "read"),
        (HANDLED, person(BEN, Interval(0, 40), moved=moved(read=40)), State.READ, "read"),
        (BEHIND, person(), State.NOT_HANDLED, "delivery is 1,200 events behind on partition 3, 11 of them before"),
        (BEHIND, person(moved=moved(39)), State.NOT_HANDLED, "the row is not written yet"),
        (BEHIND, person(moved=moved(40), connected=HERE), State.NOT_HANDLED, "the row is written, the push is to come"),
        (HANDLED, person(moved=moved(), connected=HERE), State.NOT_ACKED, "pushed to phone, connected since"),
        (HANDLED, person(moved=moved(), connected=CAME), State.NOT_ACKED, "sent with the resume to phone"),
        (HANDLED, person(moved=moved(), connected=(*DEAD, *CAME)), State.NOT_ACKED, "sent with the resume to phone"),
        (replace(HANDLED, mark=None), person(moved=moved(), connected=HERE), State.NOT_ACKED, "no longer known"),
        (HANDLED, person(moved=moved(), connected=DEAD), State.STALE_ROUTE, "leads to gateway g1, where nobody listens"),
        (HANDLED, person(moved=moved(), kept=Kept(LATER)), State.WAITING, f"waits in the pending queue since {time_text(LATER)}"),
        (HANDLED, person(moved=moved(), kept=Kept(None)), State.WAITING, "waits in the pending queue: no device"),
        (HANDLED, person(moved=moved(), kept=Kept(LATER), connected=DEAD), State.WAITING, "where nobody listens"),
        (HANDLED, person(moved=moved(), last_seen_ms=LATER), State.AWAY, f"(last seen at {time_text(LATER)})"),
        (HANDLED, person(moved=wrote(41)), State.READ, "read (implied by a later message of theirs)"),
        (HANDLED, person(moved=wrote(41, delivered=40)), State.READ, "read (implied"),
        (HANDLED, person(moved=wrote(39, delivered=40)), State.DELIVERED, "not read"),
        (HANDLED, person(moved=moved()), State.AWAY, "the pending queue no longer has it"),
        (replace(HANDLED, entry=replace(ENTRY, kind=Kind.RENAME)), person(moved=moved()), State.AWAY, "only messages are queued"),
        (replace(HANDLED, is_large=True, head=40), person(moved=moved(7)), State.AWAY, "large chats have no pending queue"),
        (replace(HANDLED, is_large=True, head=39), person(moved=moved(7)), State.NOT_HANDLED, "the row is not written"),
        (replace(HANDLED, mark=None, redis="Redis: away"), person(moved=moved()), State.UNKNOWN, "is not known: Redis: away"),
    ],
)  # fmt: skip
def test_a_recipient(found: Evidence, who: Person, state: State, words: str) -> None:
    told_state, told = judged(found, who)
    assert (told_state, words in told) == (state, True), told


@pytest.mark.parametrize(
    ("found", "people", "outcome", "words"),
    [
        (HANDLED, [person(moved=moved(read=40)), person(CLEO, moved=moved(delivered=40))], Outcome.ARRIVED,
         "Arrived: 2 of 2 have it, 1 have read it."),
        (HANDLED, [person(ANNA, moved=moved())], Outcome.ARRIVED, "There is nobody else to get it."),
        (HANDLED, [person(BEN, Interval(0, 9)), person(CLEO, moved=moved(read=40))], Outcome.ARRIVED, "1 of 1"),
        (HANDLED, [person(moved=moved(), kept=Kept(LATER)), person(CLEO, moved=moved(read=40))], Outcome.WAITING,
         "Waits for ben to connect: 1 of 2 have it"),
        (HANDLED, [person(moved=moved(), connected=HERE), person(CLEO, moved=moved())], Outcome.ON_ITS_WAY,
         "On its way to ben: 0 of 2"),
        (HANDLED, [person(moved=moved(), connected=DEAD)], Outcome.ON_ITS_WAY, "On its way to ben"),
        (BEHIND, [person(), person(CLEO, moved=moved(read=40))], Outcome.ON_ITS_WAY, "Committed, not handled yet: delivery is 1,200"),
        (replace(HANDLED, mark=None, redis="Redis: away"), [person(moved=moved())], Outcome.UNKNOWN, "Not known of ben: Redis: away"),
        (replace(HANDLED, mark=None, redis="Redis: away"), [person(moved=moved(read=40))], Outcome.ARRIVED, "Arrived"),
        (replace(HANDLED, is_large=True, head=41), [], Outcome.UNLISTED, "--user"),
        (replace(BEHIND, is_large=True, head=39), [], Outcome.ON_ITS_WAY, "not handled yet"),
        (replace(HANDLED, entry=replace(ENTRY, redacted_at_ms=LATER)), [person(moved=moved(read=40))], Outcome.ARRIVED,
         f"It was redacted at {time_text(LATER)}"),
        (replace(HANDLED, entry=replace(ENTRY, visible_until_ms=LATER)), [person(moved=moved(read=40))], Outcome.ARRIVED,
         f"It expired at {time_text(LATER)}"),
        (HANDLED, [person(UserId(f"u{n}"), moved=moved()) for n in range(7)], Outcome.WAITING, "u4 and 2 others to connect"),
    ],
)  # fmt: skip
def test_the_whole(found: Evidence, people: list[Person], outcome: Outcome, words: str) -> None:
    told = rules.trace(replace(found, people=tuple(people)))
    assert (told.outcome, words in told.verdict) == (outcome, True), told.verdict


@pytest.mark.parametrize(
    ("found", "is_handled", "words"),
    [
        (HANDLED, True, "handled up to 40"),
        (replace(HANDLED, mark=55), True, "handled up to 55"),
        (BEHIND, False, "handled up to 39; delivery is 1,200 events behind"),
        (replace(HANDLED, mark=None, people=(person(moved=moved()),)), None, "no longer known: Redis has no mark"),
        (replace(HANDLED, mark=None, redis="Redis: away"), None, "no longer known: Redis: away"),
        (replace(BEHIND, mark=None, people=(person(),)), False, "not yet"),
        (replace(BEHIND, mark=39, topic=None, kafka="Kafka: away"), False, "is not known: Kafka: away"),
        (replace(HANDLED, mark=39), False, "delivery has passed its event at offset 811 of partition 3"),
        (replace(HANDLED, mark=39, topic=Topic(partition=3, end=5, committed=5)), False, "nobody has published it"),
    ],
)  # fmt: skip
def test_handled(found: Evidence, is_handled: bool | None, words: str) -> None:  # noqa: FBT001 - a column
    told = rules.trace(found).handled
    assert (told.is_handled, words in told.verdict) == (is_handled, True), told.verdict


@pytest.mark.parametrize(
    ("topic", "kafka", "offset", "words"),
    [
        (HANDLED.topic, "", 811, "at offset 811 of partition 3"),
        (Topic(partition=3, end=5, committed=5, searched=17), "", None, "not found among 17 events"),
        (
            Topic(partition=3, end=5, committed=5, searched=None),
            "",
            None,
            "no longer known: the topic does not keep",
        ),
        (None, "Kafka: away", None, "not known: Kafka: away"),
    ],
)
def test_published(topic: Topic | None, kafka: str, offset: int | None, words: str) -> None:
    told = rules.trace(replace(HANDLED, topic=topic, kafka=kafka)).published
    assert (told.offset, words in told.verdict) == (offset, True), told.verdict


def test_what_a_member_made_of_the_chat_is_noted_beside_the_verdict() -> None:
    row = Membership(
        user=BEN, role=Role.MEMBER, intervals=(Interval(0),), blocks_other=True, blocked_by_other=True
    )
    quiet = moved(delivered=40, muted_until_ms=NOW + 1, is_archived=True)
    told = rules.recipient(HANDLED, Person(user=BEN, membership=row, moved=quiet))
    assert told.state is State.DELIVERED
    assert [note.split()[0:2] for note in told.notes] == [
        ["blocks", "the"],
        ["is", "blocked"],
        ["has", "muted"],
        ["has", "archived"],
    ]
    assert told.muted_until == time_text(NOW + 1)


def test_a_mute_that_is_over_is_not_told() -> None:
    told = rules.recipient(HANDLED, person(moved=moved(delivered=40, muted_until_ms=NOW - 1)))
    assert (told.notes, told.muted_until) == ((), None)


def test_nothing_of_what_it_says_is_told() -> None:
    """Whatever fields are added: what was sealed in the entry is in no trace."""
    import msgspec  # noqa: PLC0415 - for this alone

    told = msgspec.json.encode(rules.trace(replace(HANDLED, people=(person(moved=moved()),))))
    assert b"what nobody" not in told
    assert b"d2hhdCBub2JvZHk" not in told
