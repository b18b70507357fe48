"""When to try again and how long to wait: full jitter, bounded by the call's deadline and by a budget.

The budget is one bucket for all calls of a client. When most calls fail it runs dry, and then calls fail after
their first try instead of adding tries to an engine that cannot keep up.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass

from tidings.platform.dynamo.errors import DynamoError, OutcomeUnknownError


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryLimits:
    """Bound the tries of a call and the retries of a client. The budget works as in the AWS SDKs."""

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
        """Give back what the retry after this error cost; a call without a retry earns one token."""
        earned = 1 if after is None else self._cost(after)
        self._tokens = min(self._limits.budget, self._tokens + earned)

    def wait_s(self, error: DynamoError, tries: int, left_s: float, *, is_repeatable: bool) -> float | None:
        """How long to wait before the next try, after `tries` of them; None: there should be none.

        An unanswered try may have been applied, so only a call that is safe to repeat goes again.
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
        """A conflict costs nothing: it shows two writers of one item, not an engine that cannot keep up."""
        if error.is_conflict:
            return 0
        return self._limits.cost_unanswered if isinstance(error, OutcomeUnknownError) else self._limits.cost

    def backoff_s(self, tries: int) -> float:
        longest = min(self._limits.max_wait_s, self._limits.first_wait_s * 2.0 ** (tries - 1))
        return self._draw() * longest
