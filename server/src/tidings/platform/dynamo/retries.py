"""When to try again and how long to wait: full jitter, bounded by the call's deadline and by a budget.

The budget is one bucket for all calls of a client. When most calls fail it runs dry, and then calls fail after
their first try instead of adding tries to an engine that cannot keep up.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass

from tidings.platform.dynamo.errors import DynamoError, UnansweredError


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryLimits:
    """The budget's figures are those of the AWS SDKs."""

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

    def succeed(self) -> None:
        """Each success earns a little of the budget back."""
        if self._tokens < self._limits.budget:
            self._tokens += 1

    def wait_s(self, error: DynamoError, tries: int, left_s: float, *, is_repeatable: bool) -> float | None:
        """How long to wait before the next try, after `tries` of them; None: there should be none.

        An unanswered try may have been applied, so only a call that is safe to repeat goes again.
        """
        is_unanswered = isinstance(error, UnansweredError)
        if not error.transient or (is_unanswered and not is_repeatable) or tries >= self._limits.max_tries:
            return None
        cost = self._limits.cost_unanswered if is_unanswered else self._limits.cost
        wait_s = self.backoff_s(tries)
        if self._tokens < cost or wait_s >= left_s:
            return None
        self._tokens -= cost
        return wait_s

    def backoff_s(self, tries: int) -> float:
        longest = min(self._limits.max_wait_s, self._limits.first_wait_s * 2.0 ** (tries - 1))
        return self._draw() * longest
