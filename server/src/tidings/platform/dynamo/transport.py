"""Send calls to DynamoDB and retry them: full jitter, limited by the call's deadline and by a retry budget.

All calls of a client share the budget. When most calls fail it is used up, and calls then fail after their first attempt
instead of adding load to an engine that is overloaded.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from tidings.platform.dynamo.capacity import PatternCounters
from tidings.platform.dynamo.connection_pool import Pool, PoolLimits
from tidings.platform.dynamo.credentials import CONTENT_TYPE, CredentialsProvider, Endpoint, Signer
from tidings.platform.dynamo.errors import (
    CredentialsExpiredError,
    DynamoError,
    NotSentError,
    OutcomeUnknownError,
)
from tidings.platform.dynamo.operations import OperationSpec
from tidings.platform.dynamo.responses import (
    OK,
    UNREADABLE,
    check_integrity,
    check_unicode,
    error_from_response,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryLimits:
    """Limits of the attempts of a call and of the retries of a client. The budget works as in the AWS SDKs."""

    max_tries: int = 8
    first_wait_s: float = 0.025
    max_wait_s: float = 2.0
    budget: int = 500
    cost: int = 5
    cost_unanswered: int = 10


class Retries:
    def __init__(self, limits: RetryLimits, draw: Callable[[], float] = random.random) -> None:
        self._limits = limits
        self._draw = draw
        self._tokens = limits.budget

    @property
    def tokens(self) -> int:
        return self._tokens

    def succeed(self, after: DynamoError | None = None) -> None:
        """Return the cost of the retry after this error to the budget. A call without a retry earns one token."""
        earned = 1 if after is None else self._cost(after)
        self._tokens = min(self._limits.budget, self._tokens + earned)

    def wait_s(self, error: DynamoError, tries: int, left_s: float, *, is_repeatable: bool) -> float | None:
        """Return the wait before the next attempt, after `tries` attempts, or None to give up.

        An unanswered attempt may have been applied, so it is repeated only if that is safe.
        """
        is_unanswered = isinstance(error, OutcomeUnknownError)
        cost = self._cost(error)
        if not error.transient or (is_unanswered and not is_repeatable) or tries >= self._limits.max_tries:
            return None
        wait_s = self.backoff_s(tries)
        if self._tokens < cost or wait_s >= left_s:
            return None
        self._tokens -= cost
        return wait_s

    def _cost(self, error: DynamoError) -> int:
        """Return the cost of a retry. A conflict costs nothing: it shows two writers of one item, not an overload."""
        if error.is_conflict:
            return 0
        return self._limits.cost_unanswered if isinstance(error, OutcomeUnknownError) else self._limits.cost

    def backoff_s(self, tries: int) -> float:
        longest = min(self._limits.max_wait_s, self._limits.first_wait_s * 2.0 ** (tries - 1))
        return self._draw() * longest


@dataclass(frozen=True, slots=True)
class ServiceProfile:
    """The signing name and content type of an AWS service."""

    signed_as: str
    content_type: str


DYNAMODB = ServiceProfile("dynamodb", CONTENT_TYPE)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallLimits:
    """`call_timeout_s`: limit of a call with all attempts. `try_timeout_s`: of one attempt of a repeatable call.

    A call that is not repeatable has one attempt, which may take `call_timeout_s`.
    """

    call_timeout_s: float = 10.0
    try_timeout_s: float = 2.0
    pool: PoolLimits = field(default_factory=PoolLimits)
    retries: RetryLimits = field(default_factory=RetryLimits)


class Transport:
    def __init__(
        self,
        endpoint: Endpoint,
        region: str,
        keys: CredentialsProvider,
        limits: CallLimits,
        *,
        dialect: ServiceProfile = DYNAMODB,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._endpoint = endpoint
        self._dialect = dialect
        self._region = region
        self._keys = keys
        self._limits = limits
        self.sleep = sleep
        self.now = asyncio.get_running_loop().time
        self.pool = Pool(endpoint, limits.pool)
        self.retries = Retries(limits.retries)
        self._signer = self._new_signer()

    def close(self) -> None:
        self.pool.close()

    def deadline(self, timeout_s: float | None) -> float:
        return self.now() + (self._limits.call_timeout_s if timeout_s is None else timeout_s)

    async def call[T](
        self,
        verb: OperationSpec[T],
        body: bytes,
        row: PatternCounters,
        *,
        is_repeatable: bool,
        timeout_s: float | None = None,
    ) -> tuple[T, bool]:
        """Return the reply, and whether an earlier unanswered attempt may have been applied too."""
        began = self.now()
        deadline = self.deadline(timeout_s)
        row.calls += 1
        try:
            reply = await self._try(verb, body, deadline, is_repeatable=is_repeatable)
        except DynamoError as error:
            return await self._again(error, verb, body, row, deadline, is_repeatable=is_repeatable)
        else:
            self.retries.succeed()
            return reply, False
        finally:
            row.latency.observe(self.now() - began)

    async def _again[T](
        self,
        error: DynamoError,
        verb: OperationSpec[T],
        body: bytes,
        row: PatternCounters,
        deadline: float,
        *,
        is_repeatable: bool,
    ) -> tuple[T, bool]:
        """Send the same bytes again. A later answer does not tell whether an earlier unanswered attempt was applied."""
        is_doubtful = False
        tries = 1
        while True:
            row.count(error)
            is_doubtful |= error.maybe_applied
            error.maybe_applied = is_doubtful and verb.is_write
            await self._pause(error, tries, deadline, is_repeatable=is_repeatable)
            tries += 1
            row.retries += 1
            try:
                reply = await self._try(verb, body, deadline, is_repeatable=is_repeatable)
            except DynamoError as next_error:
                error = next_error
            else:
                self.retries.succeed(after=error)
                return reply, is_doubtful and verb.is_write

    async def _pause(self, error: DynamoError, tries: int, deadline: float, *, is_repeatable: bool) -> None:
        """Wait for the next attempt, or raise the error if there is none."""
        left_s = deadline - self.now()
        wait_s = self.retries.wait_s(error, tries, left_s, is_repeatable=is_repeatable)
        if wait_s is None:
            raise error
        if isinstance(error, CredentialsExpiredError) and not await _in_time(self._keys.renew(), deadline):
            raise error
        await self.sleep(wait_s)

    async def _try[T](
        self, verb: OperationSpec[T], body: bytes, deadline: float, *, is_repeatable: bool
    ) -> T:
        now = self.now()
        if now >= deadline:
            raise NotSentError("deadline exceeded before it was sent")
        if now >= self._keys.ask_at and not await _in_time(self._keys.ask(now), deadline):
            raise NotSentError("no credentials in time")
        status, headers, answer = await self._exchange(
            verb.target, body, deadline, is_repeatable=is_repeatable
        )
        check_integrity(headers, answer)
        if status != OK:
            raise error_from_response(status, headers, answer)
        try:
            check_unicode(answer)
            return verb.read(answer)
        except UNREADABLE as error:
            raise OutcomeUnknownError(f"invalid answer ({error})") from error

    async def _exchange(
        self, target: str, body: bytes, deadline: float, *, is_repeatable: bool
    ) -> tuple[int, dict[bytes, bytes], bytes]:
        """Send a request and return the answer. Read the headers before the next await: the connection reuses them."""
        connection = self.pool.take() or await self.pool.wait(deadline)
        if is_repeatable:
            # Set after the wait for a connection, which is not part of the attempt. A shorter deadline there would only
            # give up the position in the queue.
            deadline = min(deadline, self.now() + self._limits.try_timeout_s)
        if self._signer.keys is not self._keys.keys:
            self._signer = self._new_signer()
        try:
            failure = await self.pool.send(connection, self._signer.request(target, body), deadline)
        except BaseException:
            # Cancelled: the answer that arrives on this connection has no caller.
            connection.abort()
            raise
        if failure is not None:
            raise OutcomeUnknownError(failure)
        answer = connection.status, connection.headers, connection.body()
        self.pool.release(connection)
        return answer

    def _new_signer(self) -> Signer:
        dialect = self._dialect
        return Signer(
            self._endpoint.host,
            self._region,
            dialect.signed_as,
            self._keys.keys,
            content_type=dialect.content_type,
        )


async def _in_time(asking: Awaitable[None], deadline: float) -> bool:
    try:
        async with asyncio.timeout_at(deadline):
            await asking
    except TimeoutError:
        return False
    return True
