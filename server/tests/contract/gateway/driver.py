"""A device without a socket: it drives a connection in memory, as the adapter of a socket library does."""

import asyncio
from typing import Any, cast

import msgspec
from fixtures.gateway_stubs import NoRequestLimiter, StubNode
from fixtures.use_cases import ANNA, BEN, CLEO, UseCaseEnv

from tidings.accounts.model import Principal
from tidings.app.wiring.chats import build_chat_lists
from tidings.gateway.connected_device import ConnectedDevice
from tidings.gateway.connection import RequestHandler
from tidings.gateway.handlers import HandlerDeps
from tidings.gateway.ports import GatewayUseCases
from tidings.gateway.protocol import ConnectionProtocol
from tidings.gateway.protocol_state import (
    CloseConnection,
    ConnectionLimits,
    Effect,
    HandleRequest,
    WriteFrame,
)
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId

LIMITS = ConnectionLimits()


class Tokens:
    """Credentials for tests: a credential is the user's name."""

    def __init__(self, tenant: TenantId) -> None:
        self._known = {user: Principal(tenant=tenant, user=user) for user in (ANNA, BEN, CLEO)}
        self._server = Principal(tenant=tenant)

    async def verify(self, bearer: str, /) -> Principal:
        if bearer == "server":
            return self._server
        found = next((principal for user, principal in self._known.items() if user == bearer), None)
        if found is None:
            raise TidingsError(Code.CREDENTIAL_INVALID, "The credential is not known.")
        return found


def dispatch_of(use_cases: UseCaseEnv) -> HandlerDeps:
    cases = GatewayUseCases(
        credentials=Tokens(use_cases.tenant),
        limiter=NoRequestLimiter(),
        sender=use_cases.sender,
        edits=use_cases.change,
        history=use_cases.history,
        watermarks=build_chat_lists(use_cases.client, use_cases.keys, use_cases.clock).marking,
    )
    return HandlerDeps(cases=cases, limits=LIMITS, clock=use_cases.clock)


class Device:
    def __init__(self, dispatch: HandlerDeps) -> None:
        self._handler = RequestHandler(dispatch, "", cast("Any", StubNode()))
        self._clock = dispatch.clock
        self._connection = ConnectionProtocol(LIMITS, self._clock.monotonic(), lambda: 0.5)
        self._calls: set[asyncio.Task[None]] = set()
        self._last_id = 0
        self.frames: list[dict[str, Any]] = []
        self.closed: CloseConnection | None = None

    async def connect(self, credential: str) -> dict[str, Any]:
        return await self.ask("connect", credential=credential, protocol=1)

    async def ask(self, kind: str, **body: object) -> dict[str, Any]:
        """Send a request and return the value of `ok` or `error` in its answer."""
        self._last_id += 1
        asked = self._last_id
        self.feed(msgspec.json.encode({"id": asked, kind: body}))
        await self.settled()
        (answer,) = (frame for frame in self.frames if frame.get("id") == asked)
        found: dict[str, Any] = answer["ok"] if "ok" in answer else answer["error"]
        return found

    def feed(self, data: bytes) -> None:
        self._do(self._connection.received(data, self._clock.monotonic()))

    async def settled(self) -> None:
        while self._calls:
            await asyncio.gather(*self._calls)

    def _do(self, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case WriteFrame(data):
                    self.frames.append(msgspec.json.decode(data))
                case CloseConnection():
                    self.closed = effect
                case HandleRequest():
                    task = asyncio.create_task(self._call(effect))
                    self._calls.add(task)
                    task.add_done_callback(self._calls.discard)

    async def _call(self, call: HandleRequest) -> None:
        answer = await self._handler.answer(call.request)
        if self._handler.key is not None:
            self._handler.enter(ConnectedDevice(self._handler.key, cast("Any", self)))
        self._do(self._connection.answered(call.number, answer, self._clock.monotonic()))
