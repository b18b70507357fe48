"""A visit: who is let in as whom, and that nothing is ever raised at whoever drives it."""

import asyncio

import pytest
from unit.gateway.protocol_env import LIMITS

from tidings.accounts.model import Principal
from tidings.gateway.connected_device import ConnectedDevice
from tidings.gateway.ports import GatewayUseCases
from tidings.gateway.request_handler import HandlerDeps, RequestHandler
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

    async def __call__(self, *_: object, **__: object) -> None:
        raise self._error

    async def before(self, *_: object) -> HistorySlice:
        raise self._error


def visit(principal: Principal = PRINCIPAL, error: BaseException | None = None) -> RequestHandler:
    broken = Breaks(error or RuntimeError("s3cret"))
    cases = GatewayUseCases(
        credentials=Known(principal),
        send=broken,  # type: ignore[arg-type]
        change=broken,  # type: ignore[arg-type]
        history=broken,  # type: ignore[arg-type]
        marking=broken,  # type: ignore[arg-type]
    )
    return RequestHandler(HandlerDeps(cases=cases, limits=LIMITS, clock=SystemClock(), epoch=lambda: 3))


async def welcome(made: RequestHandler, connect: Connect = CONNECT) -> Welcome:
    answer = await made.answer(connect)
    assert isinstance(answer, Welcome)
    return answer


async def test_whatever_breaks_is_told_as_internal_and_nothing_of_it_is_shown() -> None:
    made = visit()
    await welcome(made)
    for request in (SEND, GetHistory(chat="d")):
        answer = await made.answer(request)
        assert isinstance(answer, ErrorBody)
        assert answer.code == Code.INTERNAL
        assert "s3cret" not in answer.message


async def test_a_cancelled_call_is_cancelled_and_not_answered() -> None:
    made = visit(error=asyncio.CancelledError())
    await welcome(made)
    with pytest.raises(asyncio.CancelledError):
        await made.answer(SEND)


async def test_nobody_is_served_before_he_is_known() -> None:
    answer = await visit().answer(SEND)
    assert isinstance(answer, ErrorBody)
    assert answer.code == Code.CREDENTIAL_INVALID


async def test_the_credential_says_which_device_it_is_if_it_knows() -> None:
    bound = Principal(tenant=TenantId("acme"), user=UserId("anna"), device=DeviceId("d-7"), expires_at_ms=5)
    told = await welcome(visit(bound))
    assert (told.user, told.device, told.expires_at) == ("anna", "d-7", 5)
    assert (await welcome(visit())).device == "phone-1"
    nameless = await welcome(visit(), Connect(credential="c", protocol=1))
    assert len(nameless.device) == 26


async def test_the_lower_level_of_the_protocol_is_agreed() -> None:
    newer = Connect(credential="c", protocol=PROTOCOL + 5)
    assert (await welcome(visit(), newer)).protocol == PROTOCOL


@pytest.mark.parametrize(("epoch", "is_reset"), [(None, False), (3, False), (2, True)])
async def test_positions_of_another_epoch_do_not_count(epoch: int | None, is_reset: bool) -> None:  # noqa: FBT001
    made = visit()
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


class ResumesAtOnce:
    async def resume(self, seat: object, asked: Resume, epoch: int, charge: object, /) -> Resumed:
        del seat, charge
        return Resumed(epoch=epoch, has_more=asked.has_more)


async def test_every_resume_but_the_one_that_belongs_to_connect_counts_as_a_request() -> None:
    rates, broken = Counting(), Breaks(RuntimeError())
    cases = GatewayUseCases(
        credentials=Known(PRINCIPAL),
        send=broken,  # type: ignore[arg-type]
        change=broken,  # type: ignore[arg-type]
        history=broken,  # type: ignore[arg-type]
        marking=broken,  # type: ignore[arg-type]
        rates=rates,
    )
    here = RequestHandler(
        HandlerDeps(cases=cases, limits=LIMITS, clock=SystemClock()),
        "192.0.2.1",
        ResumesAtOnce(),  # type: ignore[arg-type]
    )
    await here.answer(CONNECT)
    assert here.key is not None
    here.device = ConnectedDevice(here.key, None)  # type: ignore[arg-type]
    await here.answer(Resume(positions={}, epoch=0, has_more=True))
    await here.answer(Resume(positions={}, epoch=0))
    assert rates.requests == 0
    await here.answer(Resume(positions={}, epoch=0))
    assert rates.requests == 1
