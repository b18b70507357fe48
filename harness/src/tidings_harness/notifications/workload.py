"""Run a test of inboxes: a tenant's server sends and redacts, and users with devices read and mark."""

import asyncio
import random
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any, Final, Self, final

import httpx

from tidings_harness.notifications.history import Action, ActionOutcome, InboxRead, Journal, SeenNotification
from tidings_harness.notifications.lifetimes import NotificationLifetime
from tidings_harness.notifications.reader import InboxUser
from tidings_harness.workload.target import SetupFailed, TargetInstallation
from tidings_sdk.errors import TidingsError

_TRIES: Final = 6
_RETRY_S: Final = 0.5
_REFUSED: Final = range(400, 500)
_NOT_FINAL: Final = {408, 425, 429}
_SENDERS: Final = 2
_OVER_S: Final = 1.5
_MAX_LIVE: Final = 60
"""Maximum number of live notifications. The run redacts further ones, so that a list has only a few pages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationLoad:
    """The options of a run.

    `key` is the API key of the tenant's server, for sends. `apis` are URLs of the REST API, which take requests in turn.
    `read_apis` are further URLs for reads only. `expiring` and `ramping` are the shares of sends that expire after some
    seconds, and of broadcasts with a rollout.
    """

    site: TargetInstallation
    apis: list[str]
    key: str
    read_apis: tuple[str, ...] = ()
    users: int = 8
    inbox: str = "default"
    actions_per_s: float = 4.0
    expiring: float = 0.2
    ramping: float = 0.15


@final
@dataclass(slots=True)
class _Sent:
    """A sent notification. `ends_s` is on the clock of this process; `is_partial` is a rollout to a part of the users."""

    number: int
    notification: str
    users: frozenset[str]
    ends_s: float = inf
    is_partial: bool = False
    is_redacted: bool = False

    @property
    def is_gone(self) -> bool:
        return self.is_redacted or time.monotonic() > self.ends_s


@final
class TenantServer:
    """The tenant's server. It retries an action with its idempotency key until it gets an answer.

    Without an answer, the outcome is unknown.
    """

    def __init__(self, load: NotificationLoad, journal: Journal) -> None:
        self._load, self._journal = load, journal
        self._turn = 0
        self._http = httpx.AsyncClient(timeout=10, trust_env=False)
        self.sent: list[_Sent] = []

    async def close(self) -> None:
        await self._http.aclose()

    async def ask(
        self, method: str, path: str, body: object = None, key: str = ""
    ) -> tuple[ActionOutcome, Any]:
        headers = {"Authorization": f"Bearer {self._load.key}"} | ({"Idempotency-Key": key} if key else {})
        for attempt in range(_TRIES):
            self._turn += 1
            url = self._load.apis[self._turn % len(self._load.apis)] + path
            try:
                answer = await self._http.request(method, url, json=body, headers=headers)
            except httpx.HTTPError:
                await asyncio.sleep(_RETRY_S)
                continue
            if answer.is_success:
                return ActionOutcome.OK, answer.json() if answer.content else None
            if answer.status_code in _REFUSED and answer.status_code not in _NOT_FINAL:
                # An earlier attempt may have been accepted, and the notification may have expired since.
                return ActionOutcome.UNKNOWN if attempt else ActionOutcome.FAILED, answer.text
            await asyncio.sleep(_RETRY_S)
        return ActionOutcome.UNKNOWN, None

    async def found(self, pros: Sequence[str]) -> None:
        """Create the inbox and a segment with its users."""
        place = f"/v1/inboxes/{self._load.inbox}"
        steps: list[tuple[str, str, object]] = [("PUT", place, {"title": "Harness", "categories": ["news"]})]
        steps += [("PUT", "/v1/segments/pros", {"predicate": {"attribute": "plan", "is": "pro"}})]
        steps += [("PUT", f"/v1/users/{user}/profile", {"attributes": {"plan": "pro"}}) for user in pros]
        for method, path, body in steps:
            outcome, why = await self.ask(method, path, body)
            if outcome is not ActionOutcome.OK:
                raise SetupFailed(f"{method} {path} failed. {why or 'No edge answered.'}")

    async def broadcast(self, users: Sequence[str], segment: str | None, terms: NotificationLifetime) -> None:
        more = {"segment": segment} if segment else {}
        await self._send(Action.BROADCAST, users, "broadcasts", more, terms)

    async def direct(self, users: Sequence[str], terms: NotificationLifetime) -> None:
        await self._send(Action.DIRECT, users, "notifications", {"user_ids": list(users)}, terms)

    async def redact(self) -> None:
        existing = [each for each in self.sent if not each.is_gone]
        if not existing:
            return
        which = random.choice(existing[:-1] or existing)  # noqa: S311 - no secret
        which.is_redacted = True
        number = self._journal.begin(Action.REDACT, (), [which.number])
        outcome, _ = await self.ask(
            "DELETE", f"/v1/inboxes/{self._load.inbox}/notifications/{which.notification}"
        )
        self._journal.end(number, outcome)
        if outcome is not ActionOutcome.OK:
            # It is unknown whether it is visible.
            self.sent.remove(which)

    async def _send(
        self,
        action: Action,
        users: Sequence[str],
        path: str,
        more: Mapping[str, object],
        terms: NotificationLifetime,
    ) -> None:
        number = self._journal.begin(action, users, life_s=terms.life_s, ramp=terms.ramp)
        ends_s = time.monotonic() + terms.life_s if terms.life_s else inf
        message = {"title": f"action {number}", "number": number}
        body = {"message": message, "category": "news", **more, **terms.body()}
        outcome, sent = await self.ask(
            "POST", f"/v1/inboxes/{self._load.inbox}/{path}", body, key=uuid.uuid4().hex
        )
        self._journal.end(number, outcome)
        if outcome is ActionOutcome.OK:
            self.sent.append(_Sent(number, sent["id"], frozenset(users), ends_s, terms.is_partial))


@final
class NotificationRun:
    """A run, used with `async with`. All users have read their list when it starts."""

    def __init__(self, load: NotificationLoad, directory: Path) -> None:
        self.load = load
        self.journal = Journal(directory)
        self.server = TenantServer(load, self.journal)
        mark = uuid.uuid4().hex[:6]
        self._users = [f"n{mark}-{number}" for number in range(load.users)]
        self._pros = self._users[: len(self._users) // 2]
        self.readers = [InboxUser(load.site, self.journal, user, load.inbox) for user in self._users]
        self._loops: list[asyncio.Future[None]] = []

    async def __aenter__(self) -> Self:
        await self.server.found(self._pros)
        await asyncio.gather(*(reader.start() for reader in self.readers))
        loops = [self._every(1 / self.load.actions_per_s, self._act) for _ in range(_SENDERS)]
        loops += [self._every(0.25, reader.act) for reader in self.readers]
        loops += [self._every(1.0, self._read_over_rest)]
        self._loops = [asyncio.ensure_future(loop) for loop in loops]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._hush()
        await asyncio.gather(*(reader.stop() for reader in self.readers))
        await self.server.close()
        self.journal.__exit__()

    async def sent_more(self, count: int, within_s: float = 60.0) -> None:
        """Wait until this number of further notifications is accepted."""
        goal = len(self.server.sent) + count
        async with asyncio.timeout(within_s):
            while len(self.server.sent) < goal:  # noqa: ASYNC110 - several tasks change it
                await asyncio.sleep(0.05)

    async def wait_until_idle(self, within_s: float = 60.0) -> None:
        """Stop all actions, wait for expiries, and read each user's list when it contains every expected notification."""
        await self._hush()
        ends_s = max((each.ends_s for each in self.server.sent if each.ends_s < inf), default=0.0)
        await asyncio.sleep(max(0.0, ends_s + _OVER_S - time.monotonic()))
        await asyncio.gather(*(self._last(reader, within_s) for reader in self.readers))

    async def _last(self, reader: InboxUser, within_s: float) -> None:
        deadline = time.monotonic() + within_s
        while True:
            look = await self._patiently(reader.read_inbox)
            is_late = time.monotonic() > deadline
            if look is not None and (is_late or self._is_whole(reader.user, look)):
                reader.note(look, is_last=True)
                return
            if time.monotonic() > deadline + within_s:
                raise TimeoutError(f"The inbox of {reader.user} could not be read.")
            await asyncio.sleep(0.5)

    def _is_whole(self, user: str, look: InboxRead) -> bool:
        seen = {each.number for each in look.seen}
        return all(
            (each.number in seen) != each.is_gone
            for each in self.server.sent
            if user in each.users and not (each.is_partial and not each.is_gone)
        )

    async def _patiently(self, ask: Callable[[], Awaitable[InboxRead]]) -> InboxRead | None:
        try:
            return await ask()
        except (TidingsError, TimeoutError):
            return None

    async def _act(self) -> None:
        chance = random.random()  # noqa: S311 - spreads load
        if chance < 0.2 or sum(not each.is_gone for each in self.server.sent) > _MAX_LIVE:  # noqa: PLR2004 - a share
            await self.server.redact()
        elif chance < 0.4:  # noqa: PLR2004 - a share
            some = random.sample(self._users, min(len(self._users), random.randint(1, 3)))  # noqa: S311 - no secret
            await self.server.direct(some, NotificationLifetime.drawn(self.load.expiring, 0.0))
        elif chance < 0.6:  # noqa: PLR2004 - a share
            await self.server.broadcast(self._pros, "pros", self._terms())
        else:
            await self.server.broadcast(self._users, None, self._terms())

    def _terms(self) -> NotificationLifetime:
        return NotificationLifetime.drawn(self.load.expiring, self.load.ramping)

    async def _read_over_rest(self) -> None:
        """Read over REST from each API server in turn, and so through other processes."""
        user = random.choice(self._users)  # noqa: S311 - no secret
        for api in [*self.load.apis, *self.load.read_apis]:
            look = await read_inbox_over_rest(api, self.load, user)
            if look is not None:
                self.journal.note(look)

    async def _every(self, seconds: float, action: Callable[[], Awaitable[None]]) -> None:
        while True:
            await asyncio.sleep(seconds * random.uniform(0.6, 1.4))  # noqa: S311 - spreads load
            try:
                await action()
            except (httpx.HTTPError, TidingsError, TimeoutError):
                continue

    async def _hush(self) -> None:
        """Let an action in flight finish, because its outcome is needed."""
        loops, self._loops = self._loops, []
        for loop in loops:
            loop.cancel()
        await asyncio.gather(*loops, return_exceptions=True)


async def read_inbox_over_rest(api: str, load: NotificationLoad, user: str) -> InboxRead | None:
    """Return the answer, or None if the request was rejected or interrupted."""
    headers = {"Authorization": f"Bearer {load.site.token(user)}"}
    begun, seen, cursor = time.monotonic_ns(), list[SeenNotification](), ""
    async with httpx.AsyncClient(base_url=api, headers=headers, timeout=10, trust_env=False) as http:
        while True:
            answer = await http.get(f"/v1/inboxes/{load.inbox}/notifications?limit=100{cursor}")
            if not answer.is_success:
                return None
            page = answer.json()
            seen += [
                SeenNotification(each["message"]["number"], each["is_read"]) for each in page["notifications"]
            ]
            if page.get("cursor") is None:
                break
            cursor = f"&cursor={page['cursor']}"
    ended = time.monotonic_ns()
    return InboxRead(
        user=user, begun_ns=begun, ended_ns=ended, seen=tuple(seen), unread=0, up_to=0, is_rest=True
    )
