"""Answers of a connection: as which device it is authenticated, and that no handler error is raised."""

import asyncio
from typing import Any, cast

import pytest
from fixtures.gateway_stubs import NoRequestLimiter, StubNode
from unit.gateway.protocol_env import LIMITS

from tidings.accounts.model import Principal
from tidings.gateway.connected_device import ConnectedDevice
from tidings.gateway.connection import RequestHandler
from tidings.gateway.handlers import HandlerDeps
from tidings.gateway.ports import GatewayUseCases, RequestLimiter
from tidings.kernel.clock import SystemClock
from tidings.kernel.errors import Code
from tidings.kernel.ids import DeviceId, TenantId, UserId
from tidings.messages.history import HistorySlice
from tidings_wire.fields import PROTOCOL
from tidings_wire.frames.history import GetHistory
from tidings_wire.frames.messages import Send
from tidings_wire.frames.session import Connect, Resume, Resumed, Welcome
from tidings_wire.frames.structs import ErrorBody

CONNECT = Connect(credential="c", protocol=1, device="phone-1")
PRINCIPAL = Principal(tenant=TenantId("acme"), user=UserId("anna"))
SEND = Send(chat="d", client_message_id="k", text="hi")


class Known:
    def __init__(self, principal: Principal) -> None:
        self._principal = principal

    async def verify(self, bearer: str, /) -> Principal:
        assert bearer == "c"
        return self._principal


class Breaks:
    """Every use case in one, each as broken as the other."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    async def send(self, *_: object, **__: object) -> None:
        raise self._error

    async def before(self, *_: object) -> HistorySlice:
        raise self._error


def handler(
    principal: Principal = PRINCIPAL,
    error: BaseException | None = None,
    limiter: RequestLimiter | None = None,
) -> RequestHandler:
    broken: Any = Breaks(error or RuntimeError("s3cret"))
    cases = GatewayUseCases(
        credentials=Known(principal),
        limiter=limiter or NoRequestLimiter(),
        sender=broken,
        edits=broken,
        history=broken,
        watermarks=broken,
    )
    deps = HandlerDeps(cases=cases, limits=LIMITS, clock=SystemClock(), epoch=lambda: 3)
    return RequestHandler(deps, "192.0.2.1", cast("Any", StubNode()))


async def welcome(made: RequestHandler, connect: Connect = CONNECT) -> Welcome:
    answer = await made.answer(connect)
    assert isinstance(answer, Welcome)
    assert made.key is not None
    made.enter(ConnectedDevice(made.key, cast("Any", None)))
    return answer


async def test_unexpected_errors_are_sent_as_internal_without_details() -> None:
    made = handler()
    await welcome(made)
    for request in (SEND, GetHistory(chat="d")):
        answer = await made.answer(request)
        assert isinstance(answer, ErrorBody)
        assert answer.code == Code.INTERNAL
        assert "s3cret" not in answer.message


async def test_a_cancelled_call_is_cancelled_and_not_answered() -> None:
    made = handler(error=asyncio.CancelledError())
    await welcome(made)
    with pytest.raises(asyncio.CancelledError):
        await made.answer(SEND)


async def test_no_request_is_served_before_authentication() -> None:
    answer = await handler().answer(SEND)
    assert isinstance(answer, ErrorBody)
    assert answer.code == Code.CREDENTIAL_INVALID


async def test_the_device_of_the_credential_takes_precedence() -> None:
    bound = Principal(tenant=TenantId("acme"), user=UserId("anna"), device=DeviceId("d-7"), expires_at_ms=5)
    answer = await welcome(handler(bound))
    assert (answer.user, answer.device, answer.expires_at) == ("anna", "d-7", 5)
    assert (await welcome(handler())).device == "phone-1"
    nameless = await welcome(handler(), Connect(credential="c", protocol=1))
    assert len(nameless.device) == 26


async def test_the_lower_level_of_the_protocol_is_agreed() -> None:
    newer = Connect(credential="c", protocol=PROTOCOL + 5)
    assert (await welcome(handler(), newer)).protocol == PROTOCOL


@pytest.mark.parametrize(("epoch", "is_reset"), [(None, False), (3, False), (2, True)])
async def test_positions_of_another_epoch_do_not_count(epoch: int | None, is_reset: bool) -> None:  # noqa: FBT001
    made = handler()
    await welcome(made)
    assert await made.answer(Resume(epoch=epoch)) == Resumed(epoch=3, is_reset=is_reset)


class Counting:
    def __init__(self) -> None:
        self.requests = 0

    async def take(self, address: str, principal: Principal | None, /) -> int | None:
        del address
        self.requests += principal is not None
        return None

    async def take_work(self, principal: Principal, tokens: int, /) -> int | None:
        del principal, tokens
        return None


async def test_every_resume_except_that_of_connect_counts_as_a_request() -> None:
    limiter = Counting()
    made = handler(limiter=limiter)
    await welcome(made)
    await made.answer(Resume(positions={}, epoch=0, has_more=True))
    await made.answer(Resume(positions={}, epoch=0))
    assert limiter.requests == 0
    await made.answer(Resume(positions={}, epoch=0))
    assert limiter.requests == 1
