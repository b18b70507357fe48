"""Check what webhook endpoints received: every event, in the order of its chat, repeated only with the same id."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple


class ReceivedEvent(NamedTuple):
    """An event that an endpoint accepted. Events are listed in the order in which they were accepted."""

    endpoint: str
    id: str
    chat: str
    sequence: int
    is_signed: bool = True


class WebhookRule(StrEnum):
    DELIVERED = "every event reaches every endpoint"
    ORDERED = "the first arrivals of a chat's events are in the order of their sequences"
    SAME_ID = "an event has one id, and an id belongs to one event"
    COMMITTED = "every event belongs to a committed entry"
    SIGNED = "every event has a valid signature"


def check_events(
    heads: Mapping[str, int], endpoints: Sequence[str], received: Sequence[ReceivedEvent]
) -> dict[WebhookRule, str]:
    """Return an example of each violation. `heads`: the highest committed sequence of each chat."""
    broken: dict[WebhookRule, str] = {}
    newest: dict[tuple[str, str], int] = defaultdict(int)
    ids: dict[tuple[str, int], str] = {}
    events: dict[str, tuple[str, int]] = {}
    for each in received:
        place = each.endpoint, each.chat
        event = each.chat, each.sequence
        if not each.is_signed:
            broken.setdefault(WebhookRule.SIGNED, f"{each}")
        if not 1 <= each.sequence <= heads.get(each.chat, 0):
            broken.setdefault(WebhookRule.COMMITTED, f"{each}")
        if ids.setdefault(event, each.id) != each.id or events.setdefault(each.id, event) != event:
            broken.setdefault(WebhookRule.SAME_ID, f"{each}")
        if each.sequence > newest[place] + 1:
            broken.setdefault(WebhookRule.ORDERED, f"{each} after {newest[place]}")
        newest[place] = max(newest[place], each.sequence)
    for endpoint in endpoints:
        seen = {(each.chat, each.sequence) for each in received if each.endpoint == endpoint}
        for chat, head in heads.items():
            lost = [n for n in range(1, head + 1) if (chat, n) not in seen]
            if lost:
                broken.setdefault(WebhookRule.DELIVERED, f"{endpoint} lacks {lost[:5]} of {chat}")
    return broken
