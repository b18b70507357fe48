"""Choose the expiry and the rollout of each send at random, in the form of the API."""

import random
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

EVERYBODY: Final = 100
_RAMPS: Final = ((30, EVERYBODY), (20, 60, EVERYBODY), (25, 50))
"""Percentages of rollouts, with a step each second. The last rollout ends at half of the users."""


class NotificationLifetime(NamedTuple):
    """The lifetime of a notification, 0 for no expiry, and the percentages of its rollout."""

    life_s: float = 0.0
    ramp: tuple[int, ...] = ()

    @classmethod
    def drawn(cls, expiring: float, ramping: float) -> "NotificationLifetime":
        """Choose by these shares. Lifetimes are longer than a send on a busy machine and shorter than a run."""
        chance = random.random()  # noqa: S311 - spreads load
        if chance < expiring:
            return cls(life_s=random.uniform(3.0, 8.0))  # noqa: S311 - no secret
        return cls(ramp=random.choice(_RAMPS)) if chance < expiring + ramping else cls()  # noqa: S311 - no secret

    @property
    def is_partial(self) -> bool:
        return bool(self.ramp) and self.ramp[-1] < EVERYBODY

    def body(self) -> dict[str, object]:
        steps = [{"percent": percent, "after_s": after_s} for after_s, percent in enumerate(self.ramp)]
        return {
            **({"expires_at": _in(self.life_s)} if self.life_s else {}),
            **({"ramp": steps} if steps else {}),
        }


def _in(seconds: float) -> str:
    at = datetime.now(UTC) + timedelta(seconds=seconds)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
