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
from tidings.kernel.ids import UserId, new_ulid
from tidings.wire.bounds import PROTOCOL
from tidings.wire.frames.connecting import Connect, Welcome
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

    __slots__ = ("_caller", "_dispatch", "principal")

    def __init__(self, dispatch: Dispatch) -> None:
        self._dispatch = dispatch
        self._caller: Caller | None = None
        self.principal: Principal | None = None

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
        if self._caller is None:
            raise TidingsError(Code.CREDENTIAL_INVALID, "Nobody has connected here.")
        return await serve(self._dispatch.cases, self._caller, request)

    async def _connect(self, asked: Connect) -> Welcome:
        principal = await self._dispatch.cases.credentials.verify(asked.credential)
        if principal.user is None:
            raise TidingsError(
                Code.FORBIDDEN,
                "The credential is not a user's.",
                hint="Servers of a tenant use REST; a socket is one device of one user.",
            )
        self.principal = principal
        self._caller = Caller(principal.tenant, principal.user, self._dispatch.epoch)
        return self._welcome(asked, principal, principal.user)

    def _welcome(self, asked: Connect, principal: Principal, user: UserId) -> Welcome:
        """Which device it is says the credential, if it knows; else the device; else it gets a name here."""
        limits = self._dispatch.limits
        return Welcome(
            protocol=min(asked.protocol, PROTOCOL),
            user=user,
            device=principal.device or asked.device or new_ulid(),
            epoch=self._dispatch.epoch,
            at=self._dispatch.clock.now_ms(),
            heartbeat_s=round(limits.heartbeat_s),
            limits=limits.told(),
            expires_at=principal.expires_at_ms,
        )
