"""List prices of hosted chat services, as found in public documents, and what a scenario costs there.

A price that was not found is not estimated. `users` are those of a month.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

MONTHLY_PER_DAILY: Final = 2
"""Users of a month for each user of a day, as assumed: these services charge for users of a month."""


@dataclass(frozen=True, slots=True)
class HostedService:
    """`monthly` returns dollars for users of a month, or None where the price is not public."""

    name: str
    price: str
    source: str
    as_of: str
    monthly: Callable[[int], float | None]


def _pubnub(users: int) -> float | None:
    tiers = {1_000: 98, 5_000: 370, 10_000: 550, 25_000: 1_130}
    return next((price for size, price in tiers.items() if users <= size), None)


def _talkjs(users: int) -> float | None:
    return 569 + max(0, users - 25_000) * 0.03


def _twilio(users: int) -> float | None:
    tiers = ((200, 5_000, 0.05), (5_000, 10_000, 0.0475), (10_000, 20_000, 0.045))
    if users > tiers[-1][1]:
        return None
    return sum(max(0, min(users, high) - low) * price for low, high, price in tiers)


def _zegocloud(users: int) -> float | None:
    return -(-users // 10_000) * 449


SERVICES: Final = (
    HostedService(
        "PubNub",
        "$550 for 10,000 users, $1,130 for 25,000; from 100,000 by contract",
        "PubNub plans, from the page Pricing; transcribed by API Evangelist",
        "2026-05-08",
        _pubnub,
    ),
    HostedService(
        "TalkJS, Growth",
        "$569 with 25,000 users, $0.03 for each further one; larger plans by contract",
        "TalkJS plans, from the page Pricing; transcribed by API Evangelist",
        "2026-06-20",
        _talkjs,
    ),
    HostedService(
        "Twilio Conversations",
        "200 users free, then $0.05 up to 5,000, $0.0475 up to 10,000, $0.045 up to 20,000; further by contract",
        "Conversations API pricing; quoted by API Evangelist",
        "2026-09-20",
        _twilio,
    ),
    HostedService(
        "ZEGOCLOUD In-app Chat, Pro",
        "$449 for every 10,000 users; groups of up to 200 members",
        "How to calculate the fee for In-app Chat",
        "undated",
        _zegocloud,
    ),
)
NOT_COMPARED: Final = {
    "Stream": "its documents explain what is counted, but no price of a plan was found.",
    "Sendbird": "$399 a month for 5,000 users (Starter, 2026-05-05, transcribed by API Evangelist). Prices of larger "
    "plans were not found.",
    "CometChat": "$0.10 for each user and $1 for each connection above a plan (Pricing, read on 2026-09-20). Prices of "
    "the plans were not found.",
    "Ably": "$2.50 per million messages and $1 per million minutes of connections and channels (2026-05-08, "
    "transcribed by API Evangelist). New accounts are charged by users, for which no price was found.",
}
