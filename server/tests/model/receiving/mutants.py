"""Every rule of receiving, sentence by sentence, with the mutants that break it and the promises that then fall.

`SAID` are the sentences of the design; `MISSING` are rules that it lacks, and without which the models break;
`HEALED` are mutants that break nothing where heartbeats come and the relay runs: without the rule it is late, not
lost. `SPARED` are mutants that break nothing at all, and why.
"""

from dataclasses import dataclass
from enum import StrEnum

from model.cases import Bounds
from model.mutants import Break, Rule
from model.receiving.cases import (
    ANOTHER,
    BEATS,
    BEATS_DIED,
    BEATS_SILENT,
    BEATS_SILENT_OLD,
    CHANNEL,
    CHANNEL_ANOTHER,
    CHANNEL_LOST,
    CHANNEL_TWO,
    DIED,
    FIRST,
    GAP,
    GOES_ON,
    GROWN,
    GROWN_JOIN,
    HANDOVER,
    KAFKA,
    LATE,
    LOST,
    ORDER,
    REMOVED,
    REMOVED_LARGE,
    RETURNED,
    SECOND,
    SENDER,
    SILENT,
    SILENT_TWO,
    SLOW,
    TWICE,
    WIPED,
    WIPED_ANOTHER,
)
from model.receiving.connection import Mutant as Connecting
from model.receiving.gateways import Mutant as Small
from model.receiving.growth import Mutant as Growing
from model.receiving.large import Mutant as Large
from model.receiving.membership import Mutant as Membership
from model.receiving.promises import Promise
from model.receiving.relay import Mutant as Relaying


@dataclass(frozen=True)
class Healed:
    mutant: StrEnum
    bounds: Bounds
    by: str


@dataclass(frozen=True)
class Spared:
    """A rule that could go, as far as the promises are concerned, and what it is good for."""

    mutant: StrEnum
    scenes: tuple[Bounds, ...]
    why: str


SAID = (
    Rule(
        "The offset is committed after the effect.",
        Break(Small.COMMIT_FIRST, FIRST, Promise.ARRIVED),
        Break(Large.COMMIT_FIRST, CHANNEL, Promise.ARRIVED),
        Break(Relaying.COMMIT_FIRST, GAP, Promise.HANDLED),
    ),
    Rule(
        "A gap before this sequence is read from the log and handled first.",
        Break(Relaying.GAP_UNREAD, GAP, Promise.HANDLED),
    ),
    Rule(
        "Write the truth, then look up routes: every member's row …",
        Break(Small.ROWS_AFTER_LOOKUP, FIRST, Promise.ARRIVED),
        Break(Small.ROWS_OF_OFFLINE, SECOND, Promise.ARRIVED),
    ),
    Rule(
        "… `IF last_sequence < :n`;",
        Break(Small.ROW_GOES_BACK, ANOTHER, Promise.ARRIVED),
    ),
    Rule(
        "in a large chat one row, `chat_counters`, then the channel …",
        Break(Large.PUBLISH_FIRST, CHANNEL, Promise.ARRIVED),
    ),
    Rule(
        "… `IF sequence_counter < :n`.",
        Break(Large.COUNTER_GOES_BACK, CHANNEL_ANOTHER, Promise.ARRIVED),
    ),
    Rule(
        "Users with no route at all: put the pending row, look up again, ring the gateway that is there now.",
        Break(Small.NO_SECOND_LOOKUP, TWICE, Promise.READ),
    ),
    Rule(
        "Mark handled after all that …",
        Break(Relaying.MARK_FIRST, KAFKA, Promise.HANDLED),
    ),
    Rule(
        "… per chat, contiguous.",
        Break(Relaying.MARK_JUMPS, SENDER, Promise.HANDLED),
        Break(Relaying.MARK_HULL, WIPED_ANOTHER, Promise.HANDLED),
    ),
    Rule(
        "Install the device locally, buffering, then register the route, …",
        Break(Small.INSTALL_AFTER_READ, FIRST, Promise.ARRIVED),
        Break(Small.INSTALL_AFTER_REGISTER, SILENT, Promise.ARRIVED),
    ),
    Rule(
        "… then the strong reads of the user's rows, …",
        Break(Small.REGISTER_AFTER_READ, FIRST, Promise.ARRIVED),
        Break(Small.WEAK_READ, FIRST, Promise.ARRIVED),
        Break(Large.WEAK_READ, CHANNEL, Promise.ARRIVED),
    ),
    Rule(
        "… subscribe to the user's large chats and wait for the confirmation, then read the counters.",
        Break(Large.COUNTER_FIRST, CHANNEL, Promise.ARRIVED),
        Break(Large.UNCONFIRMED, CHANNEL, Promise.ARRIVED),
        Break(Large.SECOND_GOES_ON, CHANNEL_TWO, Promise.ARRIVED),
        Break(Large.ANY_CONFIRMATION, CHANNEL, Promise.ARRIVED),
        Break(Large.LATE_UNSUBSCRIBE, CHANNEL_TWO, Promise.ARRIVED),
    ),
    Rule(
        "Replay the buffer …",
        Break(Small.BUFFER_DROPPED, FIRST, Promise.ARRIVED),
        Break(Large.BUFFER_DROPPED, CHANNEL, Promise.ARRIVED),
    ),
    Rule(
        "… above the position.",
        Break(Small.BUFFER_UNCHECKED, FIRST, Promise.IN_ORDER),
    ),
    Rule(
        "Close the old socket; its route goes only by its own epoch.",
        Break(Small.UNREGISTER_WITHOUT_COMPARE, FIRST, Promise.ARRIVED),
        Break(Small.CLOSE_BY_DEVICE, FIRST, Promise.UNDISTURBED),
    ),
    Rule(
        "Nobody listening means that the route is stale: compare-and-delete by epoch.",
        Break(Small.STALE_WITHOUT_COMPARE, DIED, Promise.ARRIVED),
    ),
    Rule(
        "A heartbeat that finds its route gone re-creates it and resumes again.",
        Break(Small.HEARTBEAT_ALONE, LOST, Promise.ARRIVED),
        Break(Small.RESUME_FIRST, LOST, Promise.ARRIVED),
        Break(Small.HEARTBEAT_OVERWRITES, LATE, Promise.UNDISTURBED),
    ),
    Rule(
        "When a gateway loses its Redis subscription, every device on it resumes.",
        Break(Small.SILENCE_ALONE, SILENT, Promise.ARRIVED),
        Break(Small.SILENCE_UNCONFIRMED, SILENT, Promise.ARRIVED),
        Break(Large.LOST_UNNOTICED, CHANNEL_LOST, Promise.ARRIVED),
        Break(Large.LOST_UNCONFIRMED, CHANNEL_LOST, Promise.ARRIVED),
        Break(Large.LOST_SKIPS_RESUMING, CHANNEL_LOST, Promise.ARRIVED),
    ),
    Rule(
        "A device has its own position; `delivered` is the furthest device and serves ticks only.",
        Break(Small.FURTHEST_DEVICE, SECOND, Promise.ARRIVED),
        Break(Connecting.FROM_SENT, ORDER, Promise.ONCE),
    ),
    Rule(
        "The pending queue is the fast drain; the comparison is the truth, and the second device lives by it.",
        Break(Small.PENDING_ALONE, SECOND, Promise.ARRIVED),
    ),
    Rule(
        "A push ahead of the next sequence makes the gateway read the range between.",
        Break(Connecting.AHEAD_AS_IT_IS, ORDER, Promise.NO_HOLE),
        Break(Connecting.OVERTAKES, ORDER, Promise.NO_HOLE),
        Break(Connecting.LOST_WHILE_READING, ORDER, Promise.ARRIVED),
        Break(Connecting.KEPT_UNCHECKED, SLOW, Promise.IN_ORDER),
        Break(Connecting.WEAK_RANGE, ORDER, Promise.NO_HOLE),
    ),
    Rule(
        "The client deduplicates with `sequence <= position`.",
        Break(Connecting.CLIENT_TAKES_ALL, HANDOVER, Promise.ONCE),
    ),
    Rule(
        "A byte bound per connection, then a close that says 'reconnect and resume'. Never a silent drop.",
        Break(Connecting.SILENT_DROP, SLOW, Promise.ONCE),
    ),
    Rule(
        "A chat is large from the first entry whose member count passes 100.",
        Break(Growing.AS_OF_NOW, GOES_ON, Promise.ARRIVED),
        Break(Growing.COUNTER_ALONE, GROWN, Promise.ARRIVED),
    ),
    Rule(
        "Handling that entry sets `large` on every member's row before it is marked handled.",
        Break(Growing.LARGE_AFTER_MARK, GOES_ON, Promise.ARRIVED),
    ),
    Rule(
        "Each device gets each entry in the member's intervals: arithmetic, not timing.",
        Break(Membership.AUDIENCE_NOW, REMOVED, Promise.ARRIVED),
        Break(Membership.INTERVAL_REPLACED, RETURNED, Promise.NO_HOLE),
        Break(Membership.POSITION_ASSUMED, RETURNED, Promise.NO_HOLE),
    ),
    Rule(
        "Every read and push intersects them, …",
        Break(Membership.RANGE_WHOLE, RETURNED, Promise.WITHIN),
        Break(Membership.PUSH_TRUSTED, REMOVED_LARGE, Promise.WITHIN),
        Break(Membership.INTERVALS_KEPT, RETURNED, Promise.WITHIN),
    ),
    Rule(
        "… and a device's position jumps the gap.",
        Break(Membership.NO_JUMP, RETURNED, Promise.ARRIVED),
    ),
    Rule(
        "The `leave` entry goes to the removed user too.",
        Break(Membership.LEAVE_UNTOLD, REMOVED, Promise.ARRIVED),
    ),
    Rule(
        "A commit that is not marked handled is published again.",
        Break(Relaying.PUBLISHED_IS_ENOUGH, KAFKA, Promise.HANDLED),
        Break(Relaying.GOES_ON, KAFKA, Promise.HANDLED),
    ),
)

MISSING = (
    Rule(
        "`large` is set in the same write as the row's last sequence, so before the look-up.",
        Break(Growing.LARGE_BEFORE_MARK, GOES_ON, Promise.ARRIVED),
        Break(Growing.LARGE_APART, GOES_ON, Promise.ARRIVED),
    ),
    Rule(
        "The entry that makes a chat large still goes by routes, …",
        Break(Growing.ON_THE_CHANNEL, GOES_ON, Promise.ARRIVED),
    ),
    Rule(
        "… and a gateway that is pushed it subscribes, waits for the confirmation, and reads the counter.",
        Break(Growing.NOT_SUBSCRIBED, GOES_ON, Promise.ARRIVED),
        Break(Growing.NOT_READ_AGAIN, GOES_ON, Promise.ARRIVED),
        Break(Growing.READ_TOO_EARLY, GOES_ON, Promise.ARRIVED),
    ),
    Rule(
        "In a large chat a `join` also goes, by rows that say `large` and by routes, to those whom it names.",
        Break(Growing.JOIN_ON_THE_CHANNEL, GROWN_JOIN, Promise.ARRIVED),
        Break(Growing.JOINER_NOT_LARGE, GROWN_JOIN, Promise.ARRIVED),
    ),
    Rule(
        "A mark that is not there vouches for nothing: a mark is an interval.",
        Break(Relaying.ABSENT_VOUCHES, WIPED, Promise.HANDLED),
    ),
    Rule(
        "A gateway's own channel is confirmed before it registers any route.",
        Break(Small.STARTS_DEAF, FIRST, Promise.ARRIVED),
    ),
    Rule(
        "To resume after a lost channel is to register again, under a new epoch, and then to read.",
        Break(Small.SILENCE_READS, SILENT, Promise.ARRIVED),
    ),
    Rule(
        "Who registers again does so only where no other's route stands; else it closes.",
        Break(Small.AGAIN_OVERRIDES, SILENT_TWO, Promise.ARRIVED),
    ),
    Rule(
        "A device that connects anew rests on the old socket no more: if the new one breaks, it connects again.",
        Break(Connecting.STAYS_WITH_OLD, HANDOVER, Promise.ARRIVED),
    ),
    Rule(
        "Routes are looked up where they are registered, never at a replica.",
        Break(Small.LAGGING_LOOKUP, FIRST, Promise.ARRIVED),
    ),
)

BREAKS = tuple(one for rule in SAID + MISSING for one in rule.breaks)

HEALED = (
    Healed(Small.UNREGISTER_WITHOUT_COMPARE, BEATS, "heartbeat"),
    Healed(Small.STALE_WITHOUT_COMPARE, BEATS_DIED, "heartbeat"),
    Healed(Small.INSTALL_AFTER_REGISTER, BEATS_SILENT, "heartbeat"),
    Healed(Small.STARTS_DEAF, BEATS, "heartbeat"),
    Healed(Small.SILENCE_READS, BEATS_SILENT, "heartbeat"),
    Healed(Small.AGAIN_OVERRIDES, BEATS_SILENT_OLD, "heartbeat"),
    Healed(Relaying.COMMIT_FIRST, SENDER, "relay"),
    Healed(Relaying.GAP_UNREAD, SENDER, "relay"),
)

SPARED = (
    Spared(
        Small.CLOSE_FIRST,
        (FIRST, SECOND, DIED),
        "Closing the old socket last spares a device that still reads it a moment without one; its epoch is what keeps it right.",
    ),
    Spared(
        Small.HEARTBEAT_BLIND,
        (LOST, LATE),
        "An old socket that took the route is noticed sooner or later; then the route is gone. Closing at once is earlier.",
    ),
    Spared(
        Small.STALE_STANDS,
        (DIED,),
        "The rows are the truth: a stale route costs a push to nobody and a pending row that is not put, until its lease ends. So a gateway's id that came back would cost no more.",
    ),
    Spared(
        Relaying.SKIPS_MARKED,
        (SENDER, KAFKA, WIPED),
        "What is marked was handled: a worker may skip an event that is marked.",
    ),
    Spared(
        Relaying.MARK_GOES_BACK,
        (SENDER, KAFKA, WIPED),
        "A mark that says less than it could has entries handled again, no more.",
    ),
)

NOT_MODELLED = (
    ("An event that can't be decoded goes to the dead-letter topic.", "contract test of the consumer"),
    (
        "A dependency that fails pauses the partition and is retried, however long.",
        "fault test; here a worker may take as long as it likes at any step",
    ),
    ("Per (batch, gateway) the payload once and the list of devices.", "unit test of the plan"),
    ("A chat without a position gets the row and the tail.", "unit test of resume"),
    ("Watermarks: `SET w = :n IF w < :n`, refused above the head.", "contract test of the store"),
    ("Draining a gateway.", "here it is a gateway that closes sockets: devices come back elsewhere"),
    ("An outage longer than Streams' 24 hours is healed by a repair job.", "e2e test of the job"),
    ("`message.expired` events.", "they change content, not what is delivered"),
)
"""Rules that concern the encoding, the engines or the amount: they are tested there."""
