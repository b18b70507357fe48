"""What a gateway has told its devices of signs, as plain numbers for metrics to read."""

from dataclasses import dataclass


@dataclass(slots=True)
class EphemeralStats:
    """Frames by kind; `states`: whole states that were read; `subscriptions`: users whose presence was looked up.

    `lost`: what could not be said, because Redis did not answer.
    """

    receipts: int = 0
    typing: int = 0
    presence: int = 0
    own_reads: int = 0
    states: int = 0
    subscriptions: int = 0
    lost: int = 0
