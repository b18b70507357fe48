"""The record of a seed, and the conditions that must hold at each step."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from simulation.change_stream import SimChangeStream
from simulation.loop import Scheduler
from simulation.tables import Tables

from tidings.kernel.ids import UserId
from tidings.platform.dynamo.codec import Item

_FORWARD = ("last_sequence", "last_acked_sequence", "last_read_sequence", "own_sequence", "joined_sequence")


@dataclass(frozen=True, slots=True)
class Operation:
    """A request of a device; every try has the same bytes."""

    kind: str
    user: UserId
    body: Mapping[str, Any]


@dataclass
class Record:
    scheduler: Scheduler
    tables: Tables
    feed: SimChangeStream
    breaches: list[str] = field(default_factory=list)
    answered: dict[tuple[str, str], int] = field(default_factory=dict)
    refusals: dict[tuple[str, str], str] = field(default_factory=dict)
    logs: dict[str, int] = field(default_factory=dict)
    pages: list[tuple[UserId, str, list[int]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.tables.stored = self._stored

    def broken(self, what: str) -> None:
        self.breaches.append(what)
        self.scheduler.tell(f"BROKEN {what}")

    def acked(self, operation: Operation, ok: Mapping[str, Any]) -> None:
        """Check that the entry is in the log at the acknowledged sequence, at the time of the ack."""
        if "client_message_id" not in operation.body:
            return
        chat, key, sequence = operation.body["chat"], operation.body["client_message_id"], ok["sequence"]
        self.scheduler.tell(f"{operation.user} {operation.kind} {key} is {sequence}")
        entry = self.entry(chat, sequence)
        if entry is None or (entry["client_message_id"], entry["sender_id"]) != (key, operation.user):
            self.broken(f"{key} was acked at {sequence} of {chat}, where it is not stored")
        self.answered[chat, key] = sequence

    def refused(self, operation: Operation, code: str) -> None:
        self.scheduler.tell(f"{operation.user} {operation.kind} refused: {code}")
        if "client_message_id" in operation.body:
            self.refusals[operation.body["chat"], operation.body["client_message_id"]] = code

    def entry(self, chat: str, sequence: int) -> Item | None:
        return self.log(chat).get(sequence)

    def log(self, chat: str) -> dict[Any, Item]:
        return self.tables.rows["messages"].partitions.get(f"acme#{chat}", {})

    def _stored(self, table: str, before: Item | None, after: Item) -> None:
        if table == "messages":
            self._logged(before, after)
        elif table == "delivery_state" and before is not None:
            for name in _FORWARD:
                if before.get(name, 0) > after.get(name, 0):
                    self.broken(
                        f"{name} of {after['user_id']} in {after['chat_id']} went back to {after.get(name)}"
                    )

    def _logged(self, before: Item | None, after: Item) -> None:
        self.feed.note(after, is_new=before is None)
        partition = after["chat_id"]
        if partition.count("#") > 1:
            return  # Not in the log: items of reactions and ephemeral content have a longer key, and no order.
        if before is None:
            head = self.logs.get(partition, 0)
            if after["sequence"] != head + 1:
                self.broken(f"{after['sequence']} was written after {head} in {partition}")
            self.logs[partition] = after["sequence"]
        elif before["client_message_id"] != after["client_message_id"]:
            self.broken(f"{after['sequence']} of {partition} was written over")
