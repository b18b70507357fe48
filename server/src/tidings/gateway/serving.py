"""From a request to its use case and back: one small function for each, and a table of them."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from itertools import batched
from typing import Any, Final

from msgspec import Struct

from tidings.gateway.entries import page_of
from tidings.gateway.ports import UseCases
from tidings.kernel.ids import ChatId, ChatKey, ClientKey, TenantId, UserId
from tidings.messages.change import Asked
from tidings.messages.content import Content
from tidings.wire.frames.connecting import Resume, Resumed
from tidings.wire.frames.reading import History, HistoryPage
from tidings.wire.frames.shape import Done
from tidings.wire.frames.signs import Presence, Subscribe, Typing, Unsubscribe
from tidings.wire.frames.watermarks import Ack, Read
from tidings.wire.frames.writing import Appended, Edit, React, Redact, Send

_ACKS_AT_ONCE = 8
_DONE = Done()


@dataclass(frozen=True, slots=True)
class Caller:
    """Who is on the other end. The tenant comes from the verified credential alone."""

    tenant: TenantId
    user: UserId
    epoch: int

    def chat(self, name: str) -> ChatKey:
        return ChatKey(self.tenant, ChatId(name))


async def send(cases: UseCases, caller: Caller, asked: Send) -> Appended:
    sent = await cases.send(
        caller.chat(asked.chat),
        caller.user,
        ClientKey(asked.client_message_id),
        _content(asked),
        after=asked.after,
        content_type=asked.content_type,
        ttl_s=asked.ttl_seconds,
    )
    return Appended(sequence=sent.sequence, is_repeat=sent.is_repeat)


async def edit(cases: UseCases, caller: Caller, asked: Edit) -> Appended:
    done = await cases.change.edit(_about(caller, asked), _content(asked))
    return Appended(sequence=done.sequence, is_repeat=done.is_repeat)


async def redact(cases: UseCases, caller: Caller, asked: Redact) -> Appended:
    done = await cases.change.redact(_about(caller, asked))
    return Appended(sequence=done.sequence, is_repeat=done.is_repeat)


async def react(cases: UseCases, caller: Caller, asked: React) -> Appended:
    done = await cases.change.react(_about(caller, asked), asked.emoji, is_added=not asked.is_removed)
    return Appended(sequence=done.sequence, is_repeat=done.is_repeat)


async def history(cases: UseCases, caller: Caller, asked: History) -> HistoryPage:
    chat, user = caller.chat(asked.chat), caller.user
    if asked.after is not None:
        page = await cases.history.after(chat, user, asked.after, asked.limit)
    elif asked.around is not None:
        page = await cases.history.around(chat, user, asked.around, asked.limit)
    else:
        page = await cases.history.before(chat, user, asked.before, asked.limit)
    return page_of(page, user)


async def read(cases: UseCases, caller: Caller, asked: Read) -> Done:
    await cases.marking.read(caller.chat(asked.chat), caller.user, asked.sequence)
    return _DONE


async def ack(cases: UseCases, caller: Caller, asked: Ack) -> Done:
    """All that can be marked are, a few at a time; of the others the first is told."""
    faults: list[BaseException] = []
    for some in batched(asked.delivered.items(), _ACKS_AT_ONCE):
        marking = (cases.marking.delivered(caller.chat(name), caller.user, at) for name, at in some)
        outcomes = await asyncio.gather(*marking, return_exceptions=True)
        faults += [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    if faults:
        raise faults[0]
    return _DONE


async def resume(cases: UseCases, caller: Caller, asked: Resume) -> Resumed:
    """Nothing is pushed ahead of a position yet: a device asks for what it missed with `history`."""
    del cases
    is_reset = not asked.counts_in(caller.epoch)
    return Resumed(epoch=caller.epoch, is_reset=is_reset, has_more=asked.has_more)


async def sign(cases: UseCases, caller: Caller, asked: Subscribe | Unsubscribe | Typing | Presence) -> Done:
    """Where devices have no routes, nobody is told of anybody."""
    del cases, caller, asked
    return _DONE


type Serve = Callable[[UseCases, Caller, Any], Awaitable[Struct]]

SERVED: Final[Mapping[type[Struct], Serve]] = {
    Send: send,
    Edit: edit,
    Redact: redact,
    React: react,
    History: history,
    Read: read,
    Ack: ack,
    Resume: resume,
    Subscribe: sign,
    Unsubscribe: sign,
    Typing: sign,
    Presence: sign,
}


def _content(asked: Send | Edit) -> Content:
    users = tuple(UserId(user) for user in asked.mentions)
    return Content(text=asked.text, data=asked.data, reply_to=asked.reply_to, mentions=users)


def _about(caller: Caller, asked: Edit | Redact | React) -> Asked:
    key = ClientKey(asked.client_message_id)
    return Asked(caller.chat(asked.chat), caller.user, key, asked.sequence, asked.after)
