"""Random logs with every kind of entry that changes a chat row."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from fixtures.memory_chat_rows import MemoryChat
from fixtures.reference_rows import stays
from hypothesis import strategies as st
from msgspec.structs import replace

from tidings.kernel.ids import ClientKey, UserId
from tidings.messages.model import Entry, EntryKind

USERS = tuple(UserId(name) for name in ("anna", "ben", "cleo"))


@dataclass
class EntryScenario:
    """`log` as committed, `now` as stored at the end: edited and redacted."""

    log: list[Entry] = field(default_factory=list)
    now: list[Entry] = field(default_factory=list)
    inside: set[UserId] = field(default_factory=set)

    def add(self, kind: EntryKind, sender: UserId, **more: object) -> Entry:
        sequence = len(self.log) + 1
        entry = Entry(
            sequence=sequence,
            ordinal=(self.log[-1].ordinal if self.log else 0) + (kind is EntryKind.MESSAGE),
            kind=kind,
            sender=sender,
            client_key=ClientKey(str(sequence)),
            fingerprint=b"",
            created_at_ms=sequence * 1000,
            **more,  # type: ignore[arg-type]
        )
        self.log.append(entry)
        self.now.append(entry)
        return entry

    def say(self, sender: UserId, *, expires: bool) -> None:
        text = f"said {len(self.log) + 1}".encode()
        self.add(
            EntryKind.MESSAGE,
            sender,
            content=None if expires else text,
            visible_until_ms=10**12 if expires else None,
        )

    def change(self, kind: EntryKind, sender: UserId, message: Entry) -> None:
        made = self.add(kind, sender, refers_to=message.sequence)
        if kind is EntryKind.EDIT and message.visible_until_ms is None:
            message = replace(message, content=f"edited {made.sequence}".encode(), edited_at_ms=1)
        elif kind is EntryKind.REDACTION:
            message = replace(message, content=None, redacted_at_ms=1)
        self.now[message.sequence - 1] = message

    def move(self, user: UserId) -> None:
        kind = EntryKind.LEAVE if user in self.inside else EntryKind.JOIN
        self.inside ^= {user}
        self.add(kind, user, users=(user,), member_count=len(self.inside))

    def go_on(self, step: str, choose: Callable[[Sequence[Any]], Any]) -> None:
        if step == "move":
            self.move(choose(USERS))
        elif step in {"say", "expire"} and self.inside:
            self.say(choose(sorted(self.inside)), expires=step == "expire")
        elif self.alive and self.inside:
            kind = {"edit": EntryKind.EDIT, "redact": EntryKind.REDACTION}.get(step, EntryKind.REACTION)
            self.change(kind, min(self.inside), choose(self.alive))

    @property
    def alive(self) -> list[Entry]:
        return [e for e in self.now if e.kind is EntryKind.MESSAGE and e.redacted_at_ms is None]

    @property
    def chat(self) -> MemoryChat:
        return MemoryChat(self.now, {user: times for user in USERS if (times := stays(user, self.log))})


STEPS = ("say", "say", "say", "expire", "edit", "edit", "redact", "react", "move", "move")


@st.composite
def entry_scenarios(draw: st.DrawFn) -> EntryScenario:
    scenario = EntryScenario()
    scenario.inside = {USERS[0], USERS[1]}
    scenario.add(EntryKind.CREATE, USERS[0], users=USERS[:2], member_count=2)
    for step in draw(st.lists(st.sampled_from(STEPS), max_size=14)):
        scenario.go_on(step, lambda some: draw(st.sampled_from(some)))
    return scenario


def pushes_of(chance: random.Random) -> EntryScenario:
    """The same, a hundred times quicker to draw."""
    scenario = EntryScenario()
    scenario.inside = {USERS[0], USERS[1]}
    scenario.add(EntryKind.CREATE, USERS[0], users=USERS[:2], member_count=2)
    for _ in range(chance.randint(0, 14)):
        scenario.go_on(chance.choice(STEPS), chance.choice)
    return scenario


def deliveries_by(chance: random.Random, scenario: EntryScenario) -> list[list[Entry]]:
    entries = scenario.log + chance.choices(scenario.log, k=chance.randint(0, 5))
    chance.shuffle(entries)
    handfuls = []
    while entries:
        count = chance.randint(1, len(entries))
        handfuls.append(entries[:count])
        entries = entries[count:]
    return handfuls


@st.composite
def deliveries(draw: st.DrawFn, scenario: EntryScenario) -> list[list[Entry]]:
    """Return all entries in any order, some repeated, in small batches."""
    entries = draw(st.permutations(scenario.log + draw(st.lists(st.sampled_from(scenario.log), max_size=5))))
    handfuls = []
    while entries:
        count = draw(st.integers(1, len(entries)))
        handfuls.append(list(entries[:count]))
        entries = entries[count:]
    return handfuls
