"""Calls that a connection wants made, made: a request goes in, an answer or an error comes out, nothing is raised.

Knows no socket: whatever drives a `Connection` awaits `Visit.answer` for each of its calls.
"""

from dataclasses import dataclass
from typing import final

from msgspec import Struct

from tidings.accounts.model import Principal
from tidings.gateway.error_frames import frame_of
from tidings.gateway.limits import Limits
from tidings.gateway.ports import UseCases
from tidings.gateway.serving import SERVED, Caller
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import DeviceId, DeviceKey, new_ulid
from tidings.wire.bounds import PROTOCOL
from tidings.wire.frames.connecting import Connect, Resume, Welcome
from tidings.wire.frames.table import REQUEST_BY_BODY


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatch:
    """What all connections of a process share."""

    cases: UseCases
    limits: Limits
    clock: Clock
    epoch: int = 0


@final
class Visit:
    """One connection's calls. It knows who calls from the moment in which `connect` was answered."""

    __slots__ = ("_address", "_dispatch", "_principal", "caller", "key")

    def __init__(self, dispatch: Dispatch, address: str = "") -> None:
        self._dispatch = dispatch
        self._address = address
        self._principal: Principal | None = None
        self.caller: Caller | None = None
        self.key: DeviceKey | None = None

    async def answer(self, request: Struct) -> Struct:
        """Never raises but for cancellation."""
        try:
            return await self._answer(request)
        except Exception as error:  # noqa: BLE001 - whatever it was, the device gets an answer, and the log the rest
            return frame_of(error)

    async def _answer(self, request: Struct) -> Struct:
        if isinstance(request, Connect):
            return await self._connect(request)
        serve = SERVED.get(type(request))
        if serve is None:
            name = REQUEST_BY_BODY[type(request)].name
            raise TidingsError(Code.REQUEST_UNKNOWN, f"This server does not serve `{name}`.")
        if self.caller is None:
            raise TidingsError(Code.CREDENTIAL_INVALID, "Nobody has connected here.")
        if type(request) is not Resume:
            await self._count(self._principal)
        return await serve(self._dispatch.cases, self.caller, request)

    async def _count(self, principal: Principal | None) -> None:
        wait_ms = await self._dispatch.cases.rates.take(self._address, principal)
        if wait_ms is not None:
            raise TidingsError(
                Code.RATE_LIMITED,
                "Too many requests.",
                hint="Wait as long as `retry_after_ms` says, then try the same again.",
                details={"retry_after_ms": wait_ms},
            )

    async def _connect(self, asked: Connect) -> Welcome:
        """The address first: who guesses credentials is slowed down before they are looked at."""
        await self._count(None)
        principal = await self._dispatch.cases.credentials.verify(asked.credential)
        if principal.user is None:
            raise TidingsError(
                Code.FORBIDDEN,
                "The credential is not a user's.",
                hint="Servers of a tenant use REST; a socket is one device of one user.",
            )
        self._principal = principal
        self.caller = Caller(principal.tenant, principal.user, self._dispatch.epoch)
        # which device it is says the credential, if it knows; else the device; else it gets a name here
        device = principal.device or DeviceId(asked.device or new_ulid())
        self.key = DeviceKey(principal.tenant, principal.user, device)
        return self._welcome(asked.protocol, self.key, principal.expires_at_ms)

    def _welcome(self, protocol: int, key: DeviceKey, expires_at_ms: int | None) -> Welcome:
        limits = self._dispatch.limits
        return Welcome(
            protocol=min(protocol, PROTOCOL),
            user=key.user,
            device=key.device,
            epoch=self._dispatch.epoch,
            at=self._dispatch.clock.now_ms(),
            heartbeat_s=round(limits.heartbeat_s),
            limits=limits.told(),
            expires_at=expires_at_ms,
        )
