"""All models of receiving with their bounds: CI explores `HELD`; `HELD_WIDE` has the same models in wider bounds."""

from model.cases import Bounds
from model.receiving import connection, gateways, group_device, large, lists, membership, quiet, relay
from model.receiving.heads import Heads
from model.receiving.restored_rows import RestoredRows
from model.receiving.restored_state import Scenario as Restore
from model.receiving.small import Small


def _small(name: str, what: str, scenario: gateways.Scenario) -> Bounds:
    return Bounds("small", name, what, lambda mutant: Small(scenario, mutant))


def _large(name: str, what: str, scenario: large.Scenario) -> Bounds:
    return Bounds("large", name, what, lambda mutant: large.Large(scenario, mutant))


def _heads(name: str, what: str, scenario: group_device.Scenario) -> Bounds:
    return Bounds("heads", name, what, lambda mutant: Heads(scenario, mutant))


def _lists(name: str, what: str, scenario: lists.Scenario) -> Bounds:
    return Bounds("lists", name, what, lambda mutant: lists.Lists(scenario, mutant))


def _quiet(name: str, what: str, scenario: quiet.Scenario) -> Bounds:
    return Bounds("quiet", name, what, lambda mutant: quiet.Quiet(scenario, mutant))


def _relay(name: str, what: str, scenario: relay.Scenario) -> Bounds:
    return Bounds("relay", name, what, lambda mutant: relay.Relay(scenario, mutant))


def _membership(name: str, what: str, scenario: membership.Scenario) -> Bounds:
    return Bounds("membership", name, what, lambda mutant: membership.Membership(scenario, mutant))


def _connection(name: str, what: str, scenario: connection.Scenario) -> Bounds:
    return Bounds("connection", name, what, lambda mutant: connection.Connection(scenario, mutant))


def _restored(name: str, what: str, scenario: Restore) -> Bounds:
    return Bounds("restored_rows", name, what, lambda mutant: RestoredRows(scenario, mutant))


FIRST = _small(
    "first", "1 device, 2 entries, a drop, a worker dies", gateways.Scenario(drops=1, worker_deaths=1)
)
TWICE = _small("twice", "1 device, 2 entries, 2 drops", gateways.Scenario(drops=2))
SECOND = _small("second", "2 devices, 1 entry, a drop", gateways.Scenario(devices=2, entries=1, drops=1))
ANOTHER = _small(
    "another", "1 device, 2 entries, a drop, the partition moves", gateways.Scenario(drops=1, rebalances=1)
)
DIED = _small(
    "died",
    "2 gateways, 2 entries, one gateway and a worker die",
    gateways.Scenario(gateways=2, gateway_deaths=1, worker_deaths=1),
)
LOST = _small(
    "lost",
    "2 entries, a drop, Redis loses a route, heartbeats",
    gateways.Scenario(drops=1, losses=1, heals=True),
)
LATE = _small(
    "late",
    "2 entries, a drop, an old socket registers late, heartbeats",
    gateways.Scenario(drops=1, heals=True, late_registrations=True),
)
SILENT = _small(
    "silent",
    "2 entries, a gateway's channel is lost, a worker dies",
    gateways.Scenario(silences=1, worker_deaths=1),
)
SILENT_TWO = _small(
    "silent two",
    "2 gateways, 1 entry, a channel is lost, a drop",
    gateways.Scenario(silences=1, drops=1, gateways=2, entries=1),
)
# With heartbeats: mutants that break the scenarios above only because nothing repairs their effect.
BEATS = _small(
    "first, heartbeats",
    "1 device, 1 entry, a drop, a worker dies",
    gateways.Scenario(1, drops=1, worker_deaths=1, heals=True),
)
BEATS_DIED = _small(
    "died, heartbeats",
    "2 gateways, 2 entries, one gateway dies",
    gateways.Scenario(gateways=2, gateway_deaths=1, heals=True),
)
BEATS_SILENT = _small(
    "silent, heartbeats", "2 entries, a gateway's channel is lost", gateways.Scenario(silences=1, heals=True)
)
BEATS_SILENT_OLD = _small(
    "silent and old, heartbeats",
    "1 entry, a gateway's channel is lost, a drop",
    gateways.Scenario(1, silences=1, drops=1, heals=True),
)

CHANNEL = _large(
    "channel", "1 device, 2 entries, a drop, a worker dies", large.Scenario(drops=1, worker_deaths=1)
)
CHANNEL_TWO = _large("two", "2 devices, 1 entry, a drop", large.Scenario(devices=2, entries=1, drops=1))
CHANNEL_ANOTHER = _large(
    "another", "1 device, 2 entries, a drop, the partition moves", large.Scenario(drops=1, rebalances=1)
)
CHANNEL_LOST = _large(
    "lost", "1 device, 2 entries, a drop, the subscription is lost", large.Scenario(losses=1, drops=1)
)
CHANNEL_DIED = _large(
    "died", "2 devices, 1 entry, the gateway dies", large.Scenario(gateway_deaths=1, devices=2, entries=1)
)

LEAVES = _heads(
    "leave",
    "m, leave, m; a drop, a worker dies, one not published",
    group_device.Scenario("mlm", drops=1, worker_deaths=1, unpublished=1),
)
LEAVES_WIPED = _heads(
    "leave, wiped",
    "m, leave, m; Redis is emptied, a worker dies, one not published",
    group_device.Scenario("mlm", wipes=1, worker_deaths=1, unpublished=1),
)
LEAVES_ANOTHER = _heads(
    "leave, another",
    "m, leave, m; the partition moves, one not published",
    group_device.Scenario("mlm", rebalances=1, unpublished=1),
)
JOINS = _heads(
    "join",
    "m, join, own, m; Redis is emptied, one not published",
    group_device.Scenario("mjom", wipes=1, unpublished=1),
)
GROWS = _heads(
    "growth",
    "m, growth, m; a drop, a worker dies, one not published",
    group_device.Scenario("mgm", drops=1, worker_deaths=1, unpublished=1),
)
GROWS_ANOTHER = _heads(
    "growth, another",
    "growth, m, m; the partition moves, the device reads ahead",
    group_device.Scenario("gmm", rebalances=1, reads_ahead=1),
)
GROWS_JOIN = _heads(
    "growth, join",
    "growth, join, m; Redis is emptied, one not published",
    group_device.Scenario("gjm", wipes=1, unpublished=1),
)
GROWS_LEAVE = _heads(
    "large, leave",
    "growth, leave, m; a drop, a worker dies, the device reads ahead",
    group_device.Scenario("glm", drops=1, worker_deaths=1, reads_ahead=1),
)
GROWS_RETURN = _heads(
    "large, return",
    "growth, m, leave, join, m; a worker dies",
    group_device.Scenario("gmljm", worker_deaths=1),
)

LIST_LEAVE = _lists(
    "leave",
    "m, leave, m; a worker dies, one not published",
    lists.Scenario("mlm", worker_deaths=1, unpublished=1),
)
LIST_JOIN = _lists("join", "m, join, m; the partition moves", lists.Scenario("mjm", rebalances=1))
LIST_RETURN = _lists("return", "m, leave, join, m; a worker dies", lists.Scenario("mljm", worker_deaths=1))
LIST_OWN = _lists("own", "own, m, m; a worker dies", lists.Scenario("omm", worker_deaths=1))
LIST_REDACTION = _lists(
    "redaction",
    "m, its redaction, m; a worker dies, the partition moves",
    lists.Scenario("mxm", worker_deaths=1, rebalances=1),
)

GAP = _relay(
    "gap",
    "4 entries, a sender and a worker die, no relay",
    relay.Scenario(4, handled=1, sender_deaths=1, worker_deaths=1, relays=False),
)
SENDER = _relay(
    "sender", "3 entries, a sender and a worker die", relay.Scenario(sender_deaths=1, worker_deaths=1)
)
KAFKA = _relay(
    "kafka",
    "2 entries, Kafka's log is lost, a worker dies",
    relay.Scenario(2, worker_deaths=1, kafka_losses=1),
)
WIPED = _relay(
    "wiped", "3 entries, the checkpoint is lost, a sender dies", relay.Scenario(sender_deaths=1, wipes=1)
)
WIPED_ANOTHER = _relay(
    "another",
    "3 entries, the checkpoint is lost, a sender dies, the partition moves",
    relay.Scenario(sender_deaths=1, wipes=1, rebalances=1),
)

REMOVED = _membership(
    "removed", "m, leave, m; a drop, a worker dies", membership.Scenario("mlm", drops=1, worker_deaths=1)
)
RETURNED = _membership(
    "returned", "m, leave, m, join, m; the same", membership.Scenario("mlmjm", drops=1, worker_deaths=1)
)
RETURNED_LATE = _membership(
    "late",
    "m, leave, m, join, m; a drop, the partition moves",
    membership.Scenario("mlmjm", drops=1, rebalances=1),
)
REMOVED_LARGE = _membership(
    "removed, large",
    "m, leave, m; a drop, a worker dies",
    membership.Scenario("mlm", is_large=True, drops=1, worker_deaths=1),
)
RETURNED_LARGE = _membership(
    "returned, large",
    "m, leave, m, join, m; the same",
    membership.Scenario("mlmjm", is_large=True, drops=1, worker_deaths=1),
)

ORDER = _connection(
    "order", "3 entries pushed in any order, one twice, a drop", connection.Scenario(drops=1, repeats=1)
)
HANDOVER = _connection(
    "handover", "3 entries, two sockets at once, a drop", connection.Scenario(handovers=1, drops=1)
)
SLOW = _connection("slow", "3 entries, one frame in flight, a drop", connection.Scenario(bound=1, drops=1))

QUIET = _quiet(
    "messages", "2 messages, the partition moves, a worker dies", quiet.Scenario("mm", 1, worker_deaths=1)
)
QUIET_OWN = _quiet("own", "own message, another, the partition moves", quiet.Scenario("om", 1))
QUIET_LEAVE = _quiet(
    "leave", "message, leave, message, a worker dies", quiet.Scenario("mlm", worker_deaths=1)
)
QUIET_RETURN = _quiet("return", "message, leave, join, the partition moves", quiet.Scenario("mlj", 1))
QUIET_RESTORE = _quiet(
    "restore", "2 messages, backups of different times are restored", quiet.Scenario("mm", restores=1)
)

BEHIND = _restored("behind", "2 old entries, 1 new, 2 readers, an ack", Restore(2, 1, 2, acks=1))
BEHIND_LATE = _restored(
    "late", "2 old entries, 2 new, one not published, a reader, an ack", Restore(2, 2, 1, 1, 0, 1)
)
BEHIND_DIES = _restored("dies", "1 old entry, 1 new, 2 readers, an ack, one dies", Restore(1, 1, 2, 1, 1))

HELD = (
    FIRST,
    TWICE,
    SECOND,
    ANOTHER,
    DIED,
    LOST,
    LATE,
    SILENT,
    SILENT_TWO,
    BEATS,
    BEATS_DIED,
    BEATS_SILENT,
    BEATS_SILENT_OLD,
    CHANNEL,
    CHANNEL_TWO,
    CHANNEL_ANOTHER,
    CHANNEL_LOST,
    CHANNEL_DIED,
    LEAVES,
    LEAVES_WIPED,
    LEAVES_ANOTHER,
    JOINS,
    GROWS,
    GROWS_ANOTHER,
    GROWS_JOIN,
    GROWS_LEAVE,
    GROWS_RETURN,
    LIST_LEAVE,
    LIST_JOIN,
    LIST_RETURN,
    LIST_OWN,
    LIST_REDACTION,
    QUIET,
    QUIET_OWN,
    QUIET_LEAVE,
    QUIET_RETURN,
    QUIET_RESTORE,
    BEHIND,
    BEHIND_LATE,
    BEHIND_DIES,
    GAP,
    SENDER,
    KAFKA,
    WIPED,
    WIPED_ANOTHER,
    REMOVED,
    RETURNED,
    RETURNED_LATE,
    REMOVED_LARGE,
    RETURNED_LARGE,
    ORDER,
    HANDOVER,
    SLOW,
)

HELD_WIDE = (
    _restored("behind", "3 old entries, 1 new, a reader, an ack, one dies", Restore(3, 1, 1, 1, 1)),
    _restored(
        "late", "2 old entries, 2 new, one not published, 2 readers, an ack", Restore(2, 2, 2, 1, 0, 1)
    ),
    _quiet("return", "message, leave, join, message, the partition moves", quiet.Scenario("mljm", 1)),
    _small("second", "2 devices, 2 entries, a drop", gateways.Scenario(devices=2, drops=1)),
    _small(
        "first", "1 device, 3 entries, 2 drops, a worker dies", gateways.Scenario(3, drops=2, worker_deaths=1)
    ),
    _small(
        "died",
        "2 gateways, 2 entries, a drop, a gateway and a worker die",
        gateways.Scenario(gateways=2, drops=1, gateway_deaths=1, worker_deaths=1),
    ),
    _small(
        "lost",
        "2 entries, a drop, a route and a channel are lost, heartbeats",
        gateways.Scenario(drops=1, losses=1, silences=1, heals=True),
    ),
    _large(
        "lost",
        "2 devices, 2 entries, 2 drops, a subscription is lost, a worker dies",
        large.Scenario(devices=2, drops=2, losses=1, worker_deaths=1),
    ),
    _heads(
        "large, leave",
        "growth, leave, m, m; the partition moves, the device reads ahead",
        group_device.Scenario("glmm", rebalances=1, reads_ahead=1),
    ),
    _lists(
        "leave",
        "own, m, leave, m, join, m; a worker dies, the partition moves, one not published",
        lists.Scenario("omlmjm", worker_deaths=1, rebalances=1, unpublished=1),
    ),
    _relay(
        "all",
        "2 entries, senders, workers, Kafka, Redis: each fails once",
        relay.Scenario(2, sender_deaths=1, worker_deaths=1, rebalances=1, kafka_losses=1, wipes=1),
    ),
    _membership(
        "again, large",
        "m, leave, join, m, leave, m; a drop, the partition moves",
        membership.Scenario("mljmlm", is_large=True, drops=1, rebalances=1),
    ),
    _connection(
        "all",
        "3 entries, a drop, two sockets at once, 2 repeats, 2 frames",
        connection.Scenario(drops=1, handovers=1, repeats=2, bound=2),
    ),
)
