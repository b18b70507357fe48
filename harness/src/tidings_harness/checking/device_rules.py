"""Rules for each device: it receives every entry that its user may read and no other, in order, and once per connection."""

from collections.abc import Iterable
from functools import cached_property
from typing import final

import numpy as np

from tidings_harness.checking.history_index import HistoryIndex
from tidings_harness.checking.pair_index import PairIndex, starts
from tidings_harness.checking.verdict import Rule, Violation, violations
from tidings_harness.history.events import Flags, Numbers


@final
class DeliveryTable:
    """Which sequences each device may, must and did receive in each chat, in one flat array with a range for each pair."""

    def __init__(self, facts: HistoryIndex) -> None:
        self._facts = facts
        pairs = [(d, i.chat) for i in facts.intervals for d in facts.devices[i.user]]
        members = np.array(pairs, np.int64).reshape(-1, 2)
        given = facts.deliveries
        self.cells = PairIndex(
            np.concatenate([given.device, members[:, 0]]), np.concatenate([given.chat, members[:, 1]])
        )
        self.starts = starts(facts.heads[self.cells.other] + 2)
        self.delivered_positions = self.starts[self.cells.known(given.device, given.chat)] + given.sequence

    @cached_property
    def may(self) -> Flags:
        return self._filled(
            [
                (device, interval.chat, interval.joined, interval.latest)
                for interval in self._facts.intervals
                for device in self._facts.devices[interval.user]
            ]
        )

    @cached_property
    def must(self) -> Flags:
        quiet = set(self._facts.quiet.tolist())
        return self._filled(
            [
                (device, interval.chat, interval.joined, interval.removed)
                for interval in self._facts.intervals
                for device in self._facts.devices[interval.user]
                if device in quiet
            ]
        )

    @cached_property
    def got(self) -> Flags:
        got = np.zeros(self.starts[-1], np.bool_)
        got[self.delivered_positions] = True
        return got

    def describe(self, place: int) -> str:
        cell = int(np.searchsorted(self.starts, place, side="right")) - 1
        device, chat = self.cells.one[cell], self.cells.other[cell]
        return f"{self._facts.names[device]}: {self._facts.names[chat]} at {place - self.starts[cell]}"

    def _filled(self, ranges: list[tuple[int, int, int, int]]) -> Flags:
        """Return an array that is true in each range `(after, up_to]`.

        It adds one at each start, subtracts one after each end, and takes the running sum.
        """
        found = np.array(ranges, np.int64).reshape(-1, 4)
        cells = self.cells.known(found[:, 0], found[:, 1])
        heads = self._facts.heads[found[:, 1]]
        change = np.zeros(self.starts[-1] + 1, np.int8)
        after, up_to = np.minimum(found[:, 2], heads), np.minimum(found[:, 3], heads)
        up_to = np.maximum(after, up_to)
        np.add.at(change, self.starts[cells] + after + 1, 1)
        np.subtract.at(change, self.starts[cells] + up_to + 1, 1)
        return np.cumsum(change[:-1], dtype=np.int8) > 0


def everybody_gets_everything(facts: HistoryIndex, deliveries: DeliveryTable) -> Iterable[Violation[Rule]]:
    """Expect every sequence up to the highest that a device received or a sender got as an answer: the log has no holes."""
    del facts
    missing = deliveries.must & ~deliveries.got
    yield from violations(Rule.EVERYTHING, missing, lambda at: f"not delivered to {deliveries.describe(at)}")


def nothing_outside_a_membership(facts: HistoryIndex, deliveries: DeliveryTable) -> Iterable[Violation[Rule]]:
    outside = deliveries.got & ~deliveries.may
    outside[deliveries.starts[:-1]] = False
    yield from violations(
        Rule.NOTHING_ELSE, outside, lambda at: f"outside the user's membership: {deliveries.describe(at)}"
    )
    yield from violations(
        Rule.NOTHING_ELSE,
        facts.deliveries.sequence == 0,
        lambda at: f"{facts.names[facts.deliveries.device[at]]} got an entry at 0",
    )


@final
class ConnectionTable:
    """The received sequences of each connection and chat, from the first to the last, and the time of each first receipt."""

    def __init__(self, facts: HistoryIndex) -> None:
        given = facts.deliveries
        self.cells = PairIndex(given.connection, given.chat)
        cells = self.cells.known(given.connection, given.chat)
        lowest = np.full(len(self.cells), 2**40, np.int64)
        highest = np.zeros(len(self.cells), np.int64)
        self.device = np.zeros(len(self.cells), np.int64)
        np.minimum.at(lowest, cells, given.sequence)
        np.maximum.at(highest, cells, given.sequence)
        self.device[cells] = given.device
        self.starts = starts(np.maximum(highest - lowest + 1, 0))
        self.lowest = lowest
        self.places = self.starts[cells] + given.sequence - lowest[cells]
        self.came = np.full(self.starts[-1], -1, np.int64)
        self.came[self.places[::-1]] = np.arange(len(given) - 1, -1, -1)


def nothing_twice(facts: HistoryIndex, connections: ConnectionTable) -> Iterable[Violation[Rule]]:
    """Check pushed entries only. A device may receive a requested entry again as a push: the sender of pushes has no record
    of requests.
    """
    given = facts.deliveries
    pushed = np.flatnonzero(~given.is_asked)
    first = np.full(connections.starts[-1], -1, np.int64)
    first[connections.places[pushed[::-1]]] = pushed[::-1]
    again = pushed[first[connections.places[pushed]] != pushed]
    yield from violations(
        Rule.NOTHING_TWICE,
        again,
        lambda at: (
            f"{facts.names[given.device[at]]} got {facts.names[given.chat[at]]} "
            f"at {given.sequence[at]} twice in a connection"
        ),
    )


def in_order_without_holes(
    facts: HistoryIndex, deliveries: DeliveryTable, connections: ConnectionTable
) -> Iterable[Violation[Rule]]:
    cell_of = np.repeat(np.arange(len(connections.cells)), np.diff(connections.starts))
    left_out = np.flatnonzero(connections.came < 0)
    delivery = _delivery_places(deliveries, connections, cell_of, left_out)
    holes = left_out[deliveries.may[delivery]]
    came = np.flatnonzero(connections.came >= 0)
    when, where = connections.came[came], cell_of[came]
    late = came[1:][(when[1:] < when[:-1]) & (where[1:] == where[:-1])]

    def describe(place: int) -> str:
        cell = int(cell_of[place])
        sequence = place - connections.starts[cell] + connections.lowest[cell]
        chat = facts.names[connections.cells.other[cell]]
        return f"{facts.names[connections.device[cell]]}, connection {connections.cells.one[cell]}: {chat} at {sequence}"

    yield from violations(Rule.NO_HOLES, holes, lambda at: f"skipped: {describe(at)}")
    yield from violations(
        Rule.NO_HOLES, late, lambda at: f"delivered before an earlier entry: {describe(at)}"
    )


def _delivery_places(
    deliveries: DeliveryTable, connections: ConnectionTable, cell_of: Numbers, places: Numbers
) -> Numbers:
    cells = cell_of[places]
    delivery = deliveries.cells.known(connections.device[cells], connections.cells.other[cells])
    found: Numbers = (
        deliveries.starts[delivery] + places - connections.starts[cells] + connections.lowest[cells]
    )
    return found
