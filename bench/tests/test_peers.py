"""The settings of other servers admit the workloads that they are measured with."""

import re

from bench.peers.configs import EJABBERD
from bench.whole.peers import FULL


def test_an_ejabberd_room_admits_the_sender_and_all_receivers() -> None:
    """There are two limits: the maximum for a room's setting, and the default of a room, which is otherwise 200."""
    limits = [int(each) for each in re.findall(r"max_users: (\d+)", EJABBERD)]
    assert len(limits) == 2
    assert min(limits) > FULL.receivers
