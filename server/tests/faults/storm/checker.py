"""Holds what the senders heard against what stands in the log. Linear in both."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from faults.storm.history import SendOutcome
from tidings.messages.model import Entry, EntryKind


@dataclass
class StormHistory:
    """Everything that was ever said about one key."""

    acks: set[int] = field(default_factory=set)
    refusals: set[str] = field(default_factory=set)
    tries: int = 0

    @property
    def is_settled(self) -> bool:
        return bool(self.acks or self.refusals)


def gather(history: Iterable[SendOutcome]) -> dict[str, StormHistory]:
    heard: dict[str, StormHistory] = {}
    for told in history:
        about = heard.setdefault(told.key, StormHistory())
        if told.outcome is None:
            about.tries += 1
        elif isinstance(told.outcome, int):
            about.acks.add(told.outcome)
        else:
            about.refusals.add(told.outcome)
    return heard


def violations(entries: Sequence[Entry], heard: dict[str, StormHistory]) -> Iterator[str]:
    yield from _holes(entries)
    yield from _doubles(entries)
    yield from _outsiders(entries)
    where: dict[str, int] = {
        entry.client_key: entry.sequence for entry in entries if entry.kind is EntryKind.MESSAGE
    }
    yield from _against_the_log(heard, where)
    yield from (f"{key} stands in the log, and nobody ever sent it" for key in where if key not in heard)


def _holes(entries: Sequence[Entry]) -> Iterator[str]:
    for place, entry in enumerate(entries, 1):
        if entry.sequence != place:
            yield f"not dense: {entry.sequence} stands at place {place}"
            return
    for before, entry in pairwise(entries):
        if entry.ordinal != before.ordinal + (entry.kind is EntryKind.MESSAGE):
            yield f"ordinal {entry.ordinal} of {entry.sequence} does not follow {before.ordinal}"


def _doubles(entries: Sequence[Entry]) -> Iterator[str]:
    seen: dict[str, int] = {}
    for entry in entries:
        if (
            entry.kind is EntryKind.MESSAGE
            and (first := seen.setdefault(entry.client_key, entry.sequence)) != entry.sequence
        ):
            yield f"{entry.client_key} stands at {first} and again at {entry.sequence}"


def _outsiders(entries: Sequence[Entry]) -> Iterator[str]:
    """Told from the log alone: who is in is who the entries let in and did not take out."""
    members: set[str] = set()
    for entry in entries:
        if entry.kind in (EntryKind.CREATE, EntryKind.JOIN):
            members.update(entry.users)
        elif entry.kind is EntryKind.LEAVE:
            members.difference_update(entry.users)
        elif entry.kind is EntryKind.MESSAGE and entry.sender not in members:
            yield f"{entry.sequence} is from {entry.sender}, who is not a member there"


def _against_the_log(heard: dict[str, StormHistory], where: dict[str, int]) -> Iterator[str]:
    for key, about in heard.items():
        if len(about.acks) > 1:
            yield f"{key} was acknowledged at {sorted(about.acks)}"
        if about.acks and where.get(key) not in about.acks:
            yield f"{key} was acknowledged at {sorted(about.acks)} and stands at {where.get(key)}"
        if about.refusals and key in where:
            yield f"{key} was refused ({about.refusals}) and stands at {where[key]}"
        if about.refusals - {"not_a_member"}:
            yield f"{key} was refused without reason: {about.refusals}"
        if not about.is_settled:
            yield f"{key} never had an answer"
