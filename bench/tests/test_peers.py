"""Settings of other servers hold the work that they are given."""

import re

from bench.peers.configs import EJABBERD
from bench.whole.peers import FULL


def test_a_room_of_ejabberd_takes_all_who_receive_and_who_sends() -> None:
    """Two limits: what a room may be given, and what it has if nobody gave it anything, which is 200."""
    limits = [int(each) for each in re.findall(r"max_users: (\d+)", EJABBERD)]
    assert len(limits) == 2
    assert min(limits) > FULL.receivers
