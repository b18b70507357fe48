"""Text messages on their way: bounded, and off the path of the answer, which takes as long whoever is to get one."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from msgspec import Struct

from tidings.accounts.ports import SmsSender
from tidings.accounts.records import Phone
from tidings.accounts.users import UserService
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId
from tidings.kernel.secrets import Secret

_log = logging.getLogger(__name__)


class SmsTask(Struct, frozen=True, kw_only=True):
    tenant: TenantId
    to: Phone
    one_time_code: Secret
    expires_at_ms: int


class SmsCodeSender:
    """Takes codes out, after the answer. Where sign-up is closed, strangers get none, and nobody is told."""

    def __init__(self, users: UserService, sender: SmsSender, *, text: str, is_sign_up_open: bool) -> None:
        self._users = users
        self._sender = sender
        self._text = text
        self._is_sign_up_open = is_sign_up_open

    async def __call__(self, errand: SmsTask) -> None:
        if not self._is_sign_up_open and await self._users.by_phone(errand.tenant, errand.to) is None:
            return
        await self._sender.send(errand.to, self._text.replace("{code}", errand.one_time_code.reveal()))


class SmsQueue:
    """`run` is to be kept running by the process. What waits when it stops is lost: people ask again."""

    def __init__(
        self,
        deliver: Callable[[SmsTask], Awaitable[None]],
        clock: Clock,
        *,
        room: int = 1000,
        workers: int = 8,
    ) -> None:
        self._deliver = deliver
        self._clock = clock
        self._queue: asyncio.Queue[SmsTask] = asyncio.Queue(room)
        self._workers = workers

    def put(self, errand: SmsTask) -> None:
        """Raises `overloaded` for everybody alike when the sender does not keep up."""
        try:
            self._queue.put_nowait(errand)
        except asyncio.QueueFull:
            raise TidingsError(Code.OVERLOADED, "Too many codes are waiting to be sent.") from None

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(self._workers):
                group.create_task(self._work())

    async def _work(self) -> None:
        while True:
            errand = await self._queue.get()
            try:
                await self._run_one(errand)
            finally:
                self._queue.task_done()

    async def join(self) -> None:
        """Until nothing waits and nothing is under way."""
        await self._queue.join()

    async def _run_one(self, errand: SmsTask) -> None:
        """One message that can't be sent is one person's trouble, told in the log; the next goes on."""
        if self._clock.now_ms() >= errand.expires_at_ms:
            _log.warning("a code for %s waited until its time was over, and is not sent", errand.tenant)
            return
        try:
            await self._deliver(errand)
        except Exception:  # noqa: BLE001 - a sender may raise what it likes; the next message goes on
            _log.exception("a code for %s could not be sent", errand.tenant)
