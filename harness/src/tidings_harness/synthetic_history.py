"""Generate a history that a correct installation would leave, for mutants and for the benchmark of the checker.

In each chat one member joins late, one is removed and rejoins, and all devices reconnect once. Some sends fail and some
have no answer; every second one of the latter is in the log. The first member of the last chat, who has sent all of its
messages, is erased at the end. Then this chat and the first one are read again.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from tidings_harness.history.events import (
    ERASED_ENTRY,
    RECORD,
    EntryCategory,
    EventKind,
    Events,
    Numbers,
    Outcome,
)
from tidings_harness.history.loader import History

_WRITER: Final = 1 << 40
_OTHER: Final = 1 << 62
_ROUNDS: Final = 8
_QUIET_NS: Final = 10**12


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticSetup:
    chats: int = 4
    members: int = 5
    devices: int = 2
    entries: int = 63


def synthesize(setup: SyntheticSetup) -> History:
    """Assign numbers to chats first, then users, then devices, so that all numbers can be computed."""
    chats = [_chat(setup, chat) for chat in range(setup.chats)]
    parts = [_devices(setup), *(part for chat in chats for part in chat)]
    given = np.concatenate([part for part in parts if part["kind"][0] == EventKind.GIVEN])
    others = [part for part in parts if part["kind"][0] != EventKind.GIVEN]
    mixed = given[np.argsort(given["at_ns"], kind="stable")]
    return History(np.concatenate([others[0], *others[1:], mixed, *_end(setup, chats)]), _names(setup))


def make(count: int, kind: EventKind, **columns: object) -> Events:
    events = np.zeros(count, RECORD)
    events["kind"] = kind
    for name, values in columns.items():
        events[name] = values
    return events


def user_id(setup: SyntheticSetup, chat: int, member: int) -> int:
    return setup.chats + chat * setup.members + member


def device_id(setup: SyntheticSetup, chat: int, member: int, device: int) -> int:
    users = setup.chats * (1 + setup.members)
    return users + (chat * setup.members + member) * setup.devices + device


def _names(setup: SyntheticSetup) -> list[str]:
    users = [f"user-{n}" for n in range(setup.chats * setup.members)]
    devices = [f"{user}/{device}" for user in users for device in range(setup.devices)]
    return [f"chat-{n}" for n in range(setup.chats)] + users + devices


def _devices(setup: SyntheticSetup) -> Events:
    devices = np.arange(setup.chats * setup.members * setup.devices)
    first = device_id(setup, 0, 0, 0)
    return make(
        len(devices), EventKind.DEVICE, device=first + devices, value=setup.chats + devices // setup.devices
    )


def moves(setup: SyntheticSetup) -> tuple[int, int, int]:
    """Return the sequences at which the last member joins, and the member before it is removed and rejoins."""
    return setup.entries // 4, setup.entries // 2, setup.entries * 3 // 4


def entries_of(setup: SyntheticSetup, chat: int) -> Numbers:
    """Return the messages and other entries of a chat, by sequence."""
    sequences = np.arange(1, setup.entries + 1)
    is_message = ~np.isin(sequences, (1, *moves(setup)))
    numbers = _WRITER | (chat * (setup.entries * 2) + sequences)
    return np.where(is_message, numbers, _OTHER | (chat * setup.entries + sequences))


def _chat(setup: SyntheticSetup, chat: int) -> list[Events]:
    late, gone, back = moves(setup)
    sequences = np.arange(1, setup.entries + 1)
    entries = entries_of(setup, chat)
    is_message = entries < _OTHER
    first = make(
        setup.members - 1,
        EventKind.IN,
        chat=chat,
        sequence=1,
        value=user_id(setup, chat, 0) + np.arange(setup.members - 1),
    )
    last = user_id(setup, chat, setup.members - 1)
    memberships = [
        first,
        make(1, EventKind.IN, chat=chat, sequence=late, value=last),
        make(1, EventKind.OUT, chat=chat, sequence=gone, value=last - 1),
        make(1, EventKind.BANNED, chat=chat, sequence=gone, value=last - 1),
        make(1, EventKind.UNBANNED, chat=chat, sequence=back - 1, value=last - 1),
        make(1, EventKind.IN, chat=chat, sequence=back, value=last - 1),
        make(1, EventKind.MUTED, chat=chat, sequence=late, value=user_id(setup, chat, 2)),
        make(1, EventKind.UNMUTED, chat=chat, sequence=gone, value=user_id(setup, chat, 2)),
    ]
    return [
        *memberships,
        *_sends(setup, chat, sequences[is_message], entries[is_message]),
        *_given(setup, chat, entries),
    ]


def _sends(setup: SyntheticSetup, chat: int, sequences: Numbers, numbers: Numbers) -> list[Events]:
    """Send as the first member. Every tenth send has no answer. Equal numbers of further sends fail, or are lost."""
    device = device_id(setup, chat, 0, 0)
    answered = sequences % 10 != 0
    refused = numbers[::10] + setup.entries
    vanished = numbers[5::10] + setup.entries
    begun = np.concatenate([numbers, refused, vanished])
    return [
        make(len(begun), EventKind.SEND, device=device, chat=chat, message=begun),
        make(
            int(answered.sum()),
            EventKind.SENT,
            device=device,
            chat=chat,
            message=numbers[answered],
            sequence=sequences[answered],
            outcome=Outcome.OK,
        ),
        make(len(refused), EventKind.SENT, device=device, chat=chat, message=refused, outcome=Outcome.FAILED),
    ]


def _given(setup: SyntheticSetup, chat: int, entries: Numbers) -> list[Events]:
    late, gone, back = moves(setup)
    sequences = np.arange(1, setup.entries + 1)
    found = []
    for member in range(setup.members):
        for number in range(setup.devices):
            device = device_id(setup, chat, member, number)
            mine = sequences >= late if member == setup.members - 1 else sequences > 0
            if member == setup.members - 2:
                mine &= (sequences <= gone) | (sequences >= back)
            held = sequences[mine]
            found.append(
                make(
                    len(held),
                    EventKind.GIVEN,
                    at_ns=held * 1_000_000,
                    device=device,
                    chat=chat,
                    connection=device * 2 + (held > setup.entries // 3),
                    sequence=held,
                    message=entries[held - 1],
                    sort=np.where(entries[held - 1] < _OTHER, EntryCategory.MESSAGE, EntryCategory.OTHER),
                )
            )
    return found


def _end(setup: SyntheticSetup, chats: list[list[Events]]) -> list[Events]:
    devices = np.arange(setup.chats * setup.members * setup.devices) + device_id(setup, 0, 0, 0)
    found = [make(len(devices), EventKind.QUIET, device=devices, at_ns=_QUIET_NS)]
    for chat in range(len(chats)):
        found += _reads(setup, chat)
    erased = user_id(setup, setup.chats - 1, 0)
    return [
        *found,
        make(1, EventKind.ERASED, value=erased),
        make(1, EventKind.ADMITTED, value=erased, outcome=Outcome.FAILED),
        _reread(setup, 0, is_erased=False),
        _reread(setup, setup.chats - 1, is_erased=True),
    ]


def _reread(setup: SyntheticSetup, chat: int, *, is_erased: bool) -> Events:
    entries = entries_of(setup, chat)
    return make(
        setup.entries,
        EventKind.REREAD,
        chat=chat,
        sequence=np.arange(1, setup.entries + 1),
        message=np.where((entries < _OTHER) & is_erased, ERASED_ENTRY, entries),
        value=user_id(setup, chat, 1),
    )


def _reads(setup: SyntheticSetup, chat: int) -> list[Events]:
    """Let the second member read repeatedly with a chat row after each read, and the others read one row at the end."""
    upto = np.linspace(2, setup.entries - 3, _ROUNDS).astype(np.int64)
    at = np.arange(_ROUNDS) * 1_000 + 10
    reader, device = user_id(setup, chat, 1), device_id(setup, chat, 1, 0)
    facts = {"device": device, "chat": chat, "sequence": upto, "message": np.arange(_ROUNDS) + 1}
    users = np.arange(setup.members)
    reads = np.where(users == 1, upto[-1], 0)
    return [
        make(_ROUNDS, EventKind.READ, **facts, at_ns=at),
        make(_ROUNDS, EventKind.READ_DONE, **facts, at_ns=at + 100, outcome=Outcome.OK),
        make(_ROUNDS, EventKind.ROW, value=reader, chat=chat, sequence=upto, at_ns=at + 200),
        make(
            setup.members,
            EventKind.ROW,
            value=user_id(setup, chat, 0) + users,
            chat=chat,
            sequence=reads,
            message=_unread(setup, reads),
            at_ns=_QUIET_NS + 1,
        ),
    ]


def _unread(setup: SyntheticSetup, reads: Numbers) -> Numbers:
    late, gone, back = moves(setup)
    since = np.zeros(setup.members, np.int64)
    since[-1], since[-2] = late - 1, back - 1
    above = np.maximum(reads, since)
    others = np.sum([place > above for place in (1, late, gone, back)], axis=0)
    unread: Numbers = setup.entries - above - others
    unread[0] = 0
    return unread
