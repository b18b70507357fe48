"""Every rule of receiving, with the mutants that break it and the promises that are then violated.

`STATED` has the sentences of the design. `MISSING` has rules that the design lacks and the models need. `HEALED` has
mutants that break nothing if heartbeats occur and the relay runs: without the rule an entry is late, not lost.
`SPARED` has mutants that break nothing at all, with the reason.
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
    BEHIND,
    BEHIND_DIES,
    BEHIND_LATE,
    CHANNEL,
    CHANNEL_ANOTHER,
    CHANNEL_LOST,
    CHANNEL_TWO,
    DIED,
    FIRST,
    GAP,
    GROWS,
    GROWS_JOIN,
    HANDOVER,
    JOINS,
    KAFKA,
    LATE,
    LEAVES,
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
from model.receiving.group_device import Mutant as Heads
from model.receiving.group_rules import GROUP_RULES
from model.receiving.large import Mutant as Large
from model.receiving.membership import Mutant as Membership
from model.receiving.promises import Promise
from model.receiving.relay import Mutant as Relaying
from model.receiving.restored_rows import Mutant as Restored


@dataclass(frozen=True)
class Healed:
    mutant: StrEnum
    bounds: Bounds
    by: str


@dataclass(frozen=True)
class Spared:
    """A rule that no promise needs, and the reason for it."""

    mutant: StrEnum
    scenarios: tuple[Bounds, ...]
    why: str


STATED = (
    Rule(
        "The offset is committed after the effect.",
        Break(Small.COMMIT_FIRST, FIRST, Promise.ARRIVED),
        Break(Large.COMMIT_FIRST, CHANNEL, Promise.ARRIVED),
        Break(Relaying.COMMIT_FIRST, GAP, Promise.HANDLED),
    ),
    Rule(
        "A gap before this sequence is read from the log and processed first.",
        Break(Relaying.GAP_UNREAD, GAP, Promise.HANDLED),
    ),
    Rule(
        "Direct chat: write both chat rows, then look up routes …",
        Break(Small.ROWS_AFTER_LOOKUP, FIRST, Promise.ARRIVED),
        Break(Small.ROWS_OF_OFFLINE, SECOND, Promise.ARRIVED),
    ),
    Rule(
        "… `IF last_sequence < :n`;",
        Break(Small.ROW_GOES_BACK, ANOTHER, Promise.ARRIVED),
    ),
    Rule(
        "In a large chat write one head in `chat_counters`, then publish on the channel …",
        Break(Large.PUBLISH_FIRST, CHANNEL, Promise.ARRIVED),
    ),
    Rule(
        "… `IF sequence_counter < :n`.",
        Break(Large.COUNTER_GOES_BACK, CHANNEL_ANOTHER, Promise.ARRIVED),
    ),
    Rule(
        "For a user without a route: put the offline-queue item, look up again, send a resume signal to a gateway that appeared meanwhile.",
        Break(Small.NO_SECOND_LOOKUP, TWICE, Promise.READ),
    ),
    Rule(
        "Write the delivery checkpoint after all that …",
        Break(Relaying.MARK_FIRST, KAFKA, Promise.HANDLED),
    ),
    Rule(
        "… per chat, contiguous.",
        Break(Relaying.MARK_JUMPS, SENDER, Promise.HANDLED),
        Break(Relaying.MARK_HULL, WIPED_ANOTHER, Promise.HANDLED),
    ),
    Rule(
        "Add the device locally and buffer its pushes, then register the route, …",
        Break(Small.INSTALL_AFTER_READ, FIRST, Promise.ARRIVED),
        Break(Small.INSTALL_AFTER_REGISTER, SILENT, Promise.ARRIVED),
    ),
    Rule(
        "… then read the user's rows with strong consistency, …",
        Break(Small.REGISTER_AFTER_READ, FIRST, Promise.ARRIVED),
        Break(Small.WEAK_READ, FIRST, Promise.ARRIVED),
        Break(Large.WEAK_READ, CHANNEL, Promise.ARRIVED),
    ),
    Rule(
        "… subscribe to the user's large chats, wait for the confirmation, then read the heads.",
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
        "Close the old socket; its route is deleted only if it has the old socket's epoch.",
        Break(Small.UNREGISTER_WITHOUT_COMPARE, FIRST, Promise.ARRIVED),
        Break(Small.CLOSE_BY_DEVICE, FIRST, Promise.UNDISTURBED),
    ),
    Rule(
        "A channel without a subscriber means that the route is stale: compare-and-delete by epoch.",
        Break(Small.STALE_WITHOUT_COMPARE, DIED, Promise.ARRIVED),
    ),
    Rule(
        "A heartbeat that finds no route re-creates it, and the device resumes.",
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
        "A device has its own position; `delivered` is that of the furthest device and serves the delivery status only.",
        Break(Small.FURTHEST_DEVICE, SECOND, Promise.ARRIVED),
        Break(Connecting.FROM_SENT, ORDER, Promise.ONCE),
    ),
    Rule(
        "The offline queue is a shortcut. Comparing positions with rows is the guarantee, and the only source for a second device.",
        Break(Small.PENDING_ALONE, SECOND, Promise.ARRIVED),
    ),
    Rule(
        "If a push is ahead of the next sequence, the gateway reads the range between.",
        Break(Connecting.AHEAD_AS_IT_IS, ORDER, Promise.NO_HOLE),
        Break(Connecting.OVERTAKES, ORDER, Promise.NO_HOLE),
        Break(Connecting.LOST_WHILE_READING, ORDER, Promise.ARRIVED),
        Break(Connecting.KEPT_UNCHECKED, SLOW, Promise.IN_ORDER),
        Break(Connecting.WEAK_RANGE, ORDER, Promise.NO_HOLE),
    ),
    Rule(
        "The client drops entries with `sequence <= position`.",
        Break(Connecting.CLIENT_TAKES_ALL, HANDOVER, Promise.ONCE),
    ),
    Rule(
        "A connection over its byte bound is closed with 'reconnect and resume'. A frame is never dropped silently.",
        Break(Connecting.SILENT_DROP, SLOW, Promise.ONCE),
    ),
    *GROUP_RULES,
    Rule(
        "A device receives each entry in its member's intervals. Sequences decide, not the time.",
        Break(Membership.AUDIENCE_NOW, REMOVED, Promise.ARRIVED),
        Break(Membership.INTERVAL_REPLACED, RETURNED, Promise.NO_HOLE),
        Break(Membership.POSITION_ASSUMED, RETURNED, Promise.NO_HOLE),
    ),
    Rule(
        "Every read and push is intersected with the intervals, …",
        Break(Membership.RANGE_WHOLE, RETURNED, Promise.WITHIN),
        Break(Membership.PUSH_TRUSTED, REMOVED_LARGE, Promise.WITHIN),
        Break(Membership.INTERVALS_KEPT, RETURNED, Promise.WITHIN),
    ),
    Rule(
        "… and a device's position skips the gap between two intervals.",
        Break(Membership.NO_JUMP, RETURNED, Promise.ARRIVED),
    ),
    Rule(
        "The removed user receives the `leave` entry too.",
        Break(Membership.LEAVE_UNTOLD, REMOVED, Promise.ARRIVED),
    ),
    Rule(
        "The relay republishes a commit that no checkpoint covers.",
        Break(Relaying.PUBLISHED_IS_ENOUGH, KAFKA, Promise.HANDLED),
        Break(Relaying.GOES_ON, KAFKA, Promise.HANDLED),
    ),
)

MISSING = (
    Rule(
        "A checkpoint is an interval. A missing checkpoint covers nothing.",
        Break(Relaying.ABSENT_VOUCHES, WIPED, Promise.HANDLED),
    ),
    Rule(
        "A gateway registers routes only after its own channel is confirmed.",
        Break(Small.STARTS_DEAF, FIRST, Promise.ARRIVED),
    ),
    Rule(
        "To resume after a lost channel, register again under a new epoch, then read.",
        Break(Small.SILENCE_READS, SILENT, Promise.ARRIVED),
    ),
    Rule(
        "A socket registers again only if the device has no other route; otherwise it closes.",
        Break(Small.AGAIN_OVERRIDES, SILENT_TWO, Promise.ARRIVED),
    ),
    Rule(
        "A device that opens a new socket no longer uses the old one: if the new one breaks, it connects again.",
        Break(Connecting.STAYS_WITH_OLD, HANDOVER, Promise.ARRIVED),
    ),
    Rule(
        "Routes are looked up at the primary, where they are registered, never at a replica.",
        Break(Small.LAGGING_LOOKUP, FIRST, Promise.ARRIVED),
    ),
)

BREAKS = tuple(one for rule in STATED + MISSING for one in rule.breaks)

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
        Heads.HEAD_ALONE,
        (LEAVES, JOINS, GROWS_JOIN),
        "A row is ahead of its head only while a worker is between the two writes; its push then finds the route. The newer of both counts all the same: after a restore a head may be behind its rows.",
    ),
    Spared(
        Heads.HEADS_FIRST,
        (LEAVES, GROWS),
        "Both reads come after the registration, and heads of large chats are read again. Rows come first because they name the chats.",
    ),
    Spared(
        Small.CLOSE_FIRST,
        (FIRST, SECOND, DIED),
        "Closing the old socket last avoids a short time without a socket for a device that still reads the old one. Correctness depends on the epoch.",
    ),
    Spared(
        Small.HEARTBEAT_BLIND,
        (LOST, LATE),
        "A gateway detects later that an old socket took the route, and the route is then deleted. Closing immediately is earlier.",
    ),
    Spared(
        Small.STALE_STANDS,
        (DIED,),
        "The rows are the guarantee. Until its lease ends, a stale route costs a push without a receiver and an offline-queue item that is not put. Reusing a gateway id would cost no more.",
    ),
    Spared(
        Relaying.SKIPS_MARKED,
        (SENDER, KAFKA, WIPED),
        "A checkpoint covers only processed entries, so a worker may skip the event.",
    ),
    Spared(
        Relaying.MARK_GOES_BACK,
        (SENDER, KAFKA, WIPED),
        "A checkpoint that covers less causes entries to be processed again, and nothing else.",
    ),
    Spared(
        Restored.UP_TO_HEAD,
        (BEHIND, BEHIND_LATE, BEHIND_DIES),
        "A worker processes the entries above the head, and writes their rows before it raises the head.",
    ),
)

NOT_MODELLED = (
    ("An undecodable event goes to the dead-letter topic.", "contract test of the consumer"),
    (
        "A failing dependency pauses the partition and is retried until it succeeds.",
        "fault test; in the models any step of a worker may take any time",
    ),
    ("One payload and a list of devices per batch and gateway.", "unit test of the plan"),
    ("For a chat without a position, the device gets the row and the latest entries.", "unit test of resume"),
    ("Watermarks: `SET w = :n IF w < :n`, refused above the head.", "contract test of the store"),
    (
        "Draining a gateway.",
        "in the models: a gateway that closes its sockets, and devices that reconnect elsewhere",
    ),
    ("A repair job covers an outage longer than the 24 hours of DynamoDB Streams.", "e2e test of the job"),
    ("`message.expired` events.", "not modelled: they change content, not which entries are delivered"),
)
"""Rules about the encoding, the engines or quantities, which are tested there."""
