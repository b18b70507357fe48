"""Answer the requests of one connection: check the caller and the rate limit, call the handler, convert errors."""

from typing import final

from msgspec import Struct

from tidings.accounts.model import Principal
from tidings.gateway.connected_device import ConnectedDevice
from tidings.gateway.error_frames import error_frame
from tidings.gateway.handlers import HANDLERS, HandlerDeps, RequestContext
from tidings.gateway.node import GatewayNode
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import DeviceKey, TenantId, UserId
from tidings.wire.frames.registry import REQUEST_BY_BODY
from tidings.wire.frames.session import Connect, Resume, Resumed


@final
class RequestHandler:
    """The requests of one connection. The caller is known after `connect` was answered."""

    __slots__ = ("_context", "_has_resumed")

    def __init__(self, deps: HandlerDeps, address: str, node: GatewayNode) -> None:
        self._context = RequestContext(deps, address, node)
        self._has_resumed = False

    @property
    def key(self) -> DeviceKey | None:
        return self._context.key

    @property
    def principal(self) -> Principal | None:
        return self._context.principal

    @property
    def caller(self) -> tuple[TenantId, UserId] | None:
        key = self._context.key
        return None if key is None else (key.tenant, key.user)

    def enter(self, device: ConnectedDevice) -> None:
        """Serve requests of this device from now on."""
        self._context.enter(device)

    async def answer(self, request: Struct) -> Struct:
        """Return the answer or an `ErrorBody`. Raises only for cancellation."""
        try:
            return await self._answer(request)
        except Exception as error:  # noqa: BLE001 - the device receives an error for every failure, and the log the rest
            return error_frame(error)

    async def _answer(self, request: Struct) -> Struct:
        handler = HANDLERS.get(type(request))
        if handler is None:
            name = REQUEST_BY_BODY[type(request)].name
            raise TidingsError(Code.UNKNOWN_REQUEST, f"This server does not serve `{name}`.")
        if self._context.principal is None and type(request) is not Connect:
            raise TidingsError(Code.CREDENTIAL_INVALID, "Send `connect` first.")
        if self._has_resumed or type(request) is not Resume:
            # The first resume is part of `connect`, which was counted. Each later one is a request of its own.
            await self._count()
        answer = await handler(self._context, request)
        if isinstance(answer, Resumed) and not answer.has_more:
            self._has_resumed = True
        return answer

    async def _count(self) -> None:
        """Count the request. Before `connect` only the address counts, so that guessing credentials is slowed down."""
        limiter = self._context.cases.limiter
        wait_ms = await limiter.take(self._context.address, self._context.principal)
        if wait_ms is not None:
            raise TidingsError(
                Code.RATE_LIMITED,
                "Too many requests.",
                hint="Wait for `retry_after_ms`, then send the same request again.",
                details={"retry_after_ms": wait_ms},
            )
