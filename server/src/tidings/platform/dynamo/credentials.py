"""Keys to sign with, kept fresh. botocore knows every way of finding them; it blocks, so it runs in a thread.

botocore renews what expires ten to fifteen minutes ahead, whenever it is asked. So asking once a minute, beside
the calls, is enough; only a client that slept longer waits for an answer before it signs.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tidings.kernel.secrets import Secret

if TYPE_CHECKING:
    from botocore.session import Session

REFRESH_RETRY_S = 60.0
STALE_S = 300.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AwsKeys:
    access_key: str
    secret_key: Secret
    token: Secret | None = None


# Engines that check nothing still want a name; DynamoDB Local takes letters and digits only.
LOCAL_KEYS = AwsKeys("local", Secret("local"))


class NoCredentialsError(Exception):
    """No provider of botocore's chain has any."""


class CredentialsProvider(Protocol):
    """`keys` may be used until the loop's clock reaches `ask_at`; then `ask` first."""

    keys: AwsKeys
    ask_at: float

    async def ask(self, now: float) -> None:
        """Returns at once while the keys are good enough to go on with."""

    async def renew(self) -> None:
        """Fetch now: the keys were refused as expired."""


class StaticCredentials:
    """Keys that never change."""

    def __init__(self, keys: AwsKeys) -> None:
        self.keys = keys
        self.ask_at = float("inf")

    async def ask(self, now: float) -> None: ...

    async def renew(self) -> None: ...


class RenewedCredentials:
    """Keys that `fetch` gives, which may block and may give others later."""

    def __init__(
        self,
        fetch: Callable[[], AwsKeys],
        keys: AwsKeys,
        now: float,
        *,
        ask_again_s: float = REFRESH_RETRY_S,
        stale_s: float = STALE_S,
    ) -> None:
        self._fetch = fetch
        self.keys = keys
        self._fetched_at = now
        self._ask_again_s = ask_again_s
        self._stale_s = stale_s
        self.ask_at = now + ask_again_s
        self._running: asyncio.Task[None] | None = None

    async def ask(self, now: float) -> None:
        is_stale = now >= self._fetched_at + self._stale_s
        task = self._start()
        if is_stale:
            await asyncio.shield(task)
        else:
            self.ask_at = now + self._ask_again_s

    async def renew(self) -> None:
        await asyncio.shield(self._start())

    def _start(self) -> asyncio.Task[None]:
        """One fetch at a time, whoever waits for it; a caller that is cancelled does not stop it."""
        if self._running is None:
            self._running = asyncio.create_task(self._run(), name="dynamo-credentials")
            self._running.add_done_callback(self._drop)
        return self._running

    def _drop(self, _: asyncio.Task[None]) -> None:
        self._running = None

    async def _run(self) -> None:
        try:
            self.keys = await asyncio.to_thread(self._fetch)
        except Exception:  # noqa: BLE001 - any provider, any of its errors
            # The keys at hand may be good for minutes; if they are not, DynamoDB says so.
            _log.warning("credentials could not be renewed; going on with those at hand", exc_info=True)
        self._fetched_at = asyncio.get_running_loop().time()
        self.ask_at = self._fetched_at + self._ask_again_s


def botocore_keys(session: "Session") -> Callable[[], AwsKeys]:
    """A fetch that asks the session's chain: environment, files, container, instance, SSO, web identity …"""

    def fetch() -> AwsKeys:
        found = session.get_credentials()
        if found is None:
            raise NoCredentialsError("no AWS credentials: botocore looked in all its places")
        frozen = found.get_frozen_credentials()
        token = Secret(frozen.token) if frozen.token else None
        return AwsKeys(str(frozen.access_key), Secret(str(frozen.secret_key)), token)

    return fetch


async def find_keys(session: "Session") -> RenewedCredentials:
    fetch = botocore_keys(session)
    keys = await asyncio.to_thread(fetch)
    return RenewedCredentials(fetch, keys, asyncio.get_running_loop().time())
