"""From a request to its use case and back: one small function for each, and a table of them."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from itertools import batched
from typing import Any, Final

from msgspec import Struct

from tidings.gateway.entries import history_page_frame
from tidings.gateway.ports import GatewayUseCases
from tidings.kernel.ids import ChatId, ChatKey, ClientKey, TenantId, UserId
from tidings.messages.change import ChangeRequest
from tidings.messages.content import Content
from tidings.wire.frames.connecting import Resume, Resumed
from tidings.wire.frames.reading import GetHistory, HistoryPage
from tidings.wire.frames.shape import Ok
from tidings.wire.frames.signs import Presence, Subscribe, Typing, Unsubscribe
from tidings.wire.frames.watermarks import Ack, Read
from tidings.wire.frames.writing import CommitResult, Edit, React, Redact, Send

_MAX_CONCURRENT_ACKS = 8
_DONE = Ok()


@dataclass(frozen=True, slots=True)
class RequestContext:
    """Who is on the other end. The tenant comes from the verified credential alone."""

    tenant: TenantId
    user: UserId
    epoch: int

    def chat(self, name: str) -> ChatKey:
        return ChatKey(self.tenant, ChatId(name))


async def send(cases: GatewayUseCases, caller: RequestContext, asked: Send) -> CommitResult:
    sent = await cases.send(
        caller.chat(asked.chat),
        caller.user,
        ClientKey(asked.client_message_id),
        _content(asked),
        after=asked.after,
        content_type=asked.content_type,
        ttl_s=asked.ttl_seconds,
    )
    return CommitResult(sequence=sent.sequence, is_repeat=sent.is_repeat)


async def edit(cases: GatewayUseCases, caller: RequestContext, asked: Edit) -> CommitResult:
    done = await cases.change.edit(_about(caller, asked), _content(asked))
    return CommitResult(sequence=done.sequence, is_repeat=done.is_repeat)


async def redact(cases: GatewayUseCases, caller: RequestContext, asked: Redact) -> CommitResult:
    done = await cases.change.redact(_about(caller, asked))
    return CommitResult(sequence=done.sequence, is_repeat=done.is_repeat)


async def react(cases: GatewayUseCases, caller: RequestContext, asked: React) -> CommitResult:
    done = await cases.change.react(_about(caller, asked), asked.emoji, is_added=not asked.is_removed)
    return CommitResult(sequence=done.sequence, is_repeat=done.is_repeat)


async def get_history(cases: GatewayUseCases, caller: RequestContext, asked: GetHistory) -> HistoryPage:
    chat, user = caller.chat(asked.chat), caller.user
    if asked.after is not None:
        page = await cases.history.after(chat, user, asked.after, asked.limit)
    elif asked.around is not None:
        page = await cases.history.around(chat, user, asked.around, asked.limit)
    else:
        page = await cases.history.before(chat, user, asked.before, asked.limit)
    return history_page_frame(page, user)


async def mark_read(cases: GatewayUseCases, caller: RequestContext, asked: Read) -> Ok:
    await cases.marking.read(caller.chat(asked.chat), caller.user, asked.sequence)
    return _DONE


async def ack(cases: GatewayUseCases, caller: RequestContext, asked: Ack) -> Ok:
    """All that can be marked are, a few at a time; of the others the first is told."""
    faults: list[BaseException] = []
    for some in batched(asked.delivered.items(), _MAX_CONCURRENT_ACKS):
        marking = (cases.marking.delivered(caller.chat(name), caller.user, at) for name, at in some)
        outcomes = await asyncio.gather(*marking, return_exceptions=True)
        faults += [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    if faults:
        raise faults[0]
    return _DONE


async def resume(cases: GatewayUseCases, caller: RequestContext, asked: Resume) -> Resumed:
    """Nothing is pushed ahead of a position yet: a device asks for what it missed with `get_history`."""
    del cases
    is_reset = not asked.counts_in(caller.epoch)
    return Resumed(epoch=caller.epoch, is_reset=is_reset, has_more=asked.has_more)


async def ephemeral_noop(
    cases: GatewayUseCases, caller: RequestContext, asked: Subscribe | Unsubscribe | Typing | Presence
) -> Ok:
    """Where devices have no routes, nobody is told of anybody."""
    del cases, caller, asked
    return _DONE


type Handler = Callable[[GatewayUseCases, RequestContext, Any], Awaitable[Struct]]

CHAT_HANDLERS: Final[Mapping[type[Struct], Handler]] = {
    Send: send,
    Edit: edit,
    Redact: redact,
    React: react,
    GetHistory: get_history,
    Read: mark_read,
    Ack: ack,
    Resume: resume,
    Subscribe: ephemeral_noop,
    Unsubscribe: ephemeral_noop,
    Typing: ephemeral_noop,
    Presence: ephemeral_noop,
}


def _content(asked: Send | Edit) -> Content:
    users = tuple(UserId(user) for user in asked.mentions)
    return Content(text=asked.text, data=asked.data, reply_to=asked.reply_to, mentions=users)


def _about(caller: RequestContext, asked: Edit | Redact | React) -> ChangeRequest:
    key = ClientKey(asked.client_message_id)
    return ChangeRequest(caller.chat(asked.chat), caller.user, key, asked.sequence, asked.after)
