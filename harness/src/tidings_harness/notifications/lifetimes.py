"""How long a notification is there and to how many it comes: drawn for each send, and as the API takes it."""

import random
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

EVERYBODY: Final = 100
_RAMPS: Final = ((30, EVERYBODY), (20, 60, EVERYBODY), (25, 50))
"""Percents, a second apart; the last one stops at half of them."""


class NotificationLifetime(NamedTuple):
    """For how long a notification is there, 0 for as long as may be; and to how many percent it comes, step by step."""

    life_s: float = 0.0
    ramp: tuple[int, ...] = ()

    @classmethod
    def drawn(cls, expiring: float, ramping: float) -> "NotificationLifetime":
        """By these shares. Lives are longer than a busy machine takes to send, and shorter than a run."""
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
