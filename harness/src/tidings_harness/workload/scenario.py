"""Scenarios as data. Deliveries are sends times members times devices, so groups generate many deliveries cheaply."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """The size and the actions of a run.

    - `rate`: sends per second in each group.
    - `speakers`: members of a group that use the SDK's client.
    - `large_chat_members`: members of one more group, with one device each. With more than 100 members it is a large
      chat, which is delivered differently.
    - `churns`: a member is repeatedly removed and added again.
    - `stutters`: sends that are repeated although they were answered.
    - `unknown_users`: a user who is not a member tries to send.
    - `reads`: marks, sometimes older than the last one.
    - `erases`: in each group one member writes and is then erased, while the others continue. It needs an API key, and the
      server takes eight minutes for it.
    - `moderates`: the owner mutes and unmutes a speaker, and bans and unbans the members who are removed.
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
    moderates: bool = False
    erases: bool = False

    @property
    def light_devices(self) -> int:
        return self.groups * self.members * self.devices + self.large_chat_members


SCENARIOS: Final[Mapping[str, Scenario]] = {
    "small": Scenario(groups=2, members=6, devices=2, rate=4, moderates=True),
    "steady": Scenario(),
    "hot-chat": Scenario(groups=1, members=20, devices=2, speakers=6, rate=120),
    "crowd": Scenario(groups=1, members=160, devices=2, rate=8),
    "erasures": Scenario(groups=2, members=7, devices=2, rate=4, erases=True),
    "storm": Scenario(groups=50, members=100, devices=1, rate=0.5, churns=False),
}
