"""How much of what: scenarios as data. Deliveries are sends times members times devices, so groups make them cheap."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """`rate`: sends a second in each group. `speakers`: of its members, those who are on the SDK's own client.

    `large_chat_members`: members of one group more, with one device each; over 100 of them make a large chat, which is delivered in
    another way. `churns`: a member is removed and comes back, again and again. `stutters`: sends that are repeated though they were
    answered. `unknown_users`: somebody who is not a member tries to send. `reads`: marks, sometimes older than the last.
    """

    groups: int = 4
    members: int = 50
    devices: int = 2
    large_chat_members: int = 0
    speakers: int = 2
    rate: float = 5.0
    text_bytes: int = 60
    churns: bool = True
    stutters: bool = True
    unknown_users: bool = True
    reads: bool = True

    @property
    def light_devices(self) -> int:
        return self.groups * self.members * self.devices + self.large_chat_members


SCENARIOS: Final[Mapping[str, Scenario]] = {
    "small": Scenario(groups=2, members=6, devices=2, rate=4),
    "steady": Scenario(),
    "hot-chat": Scenario(groups=1, members=20, devices=2, speakers=6, rate=120),
    "crowd": Scenario(groups=1, members=160, devices=2, rate=8),
    "storm": Scenario(groups=50, members=100, devices=1, rate=0.5, churns=False),
}
