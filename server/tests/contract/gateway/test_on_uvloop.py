"""The heart of the contract on uvloop, on which the gateway runs; the rest of the suite runs on the standard loop."""

from collections.abc import Awaitable, Callable

import pytest
import uvloop
from contract.gateway import test_ending as ending
from contract.gateway import test_messages as messages
from contract.gateway import test_opening as opening

from tidings.gateway.transport.websockets_transport import BackendName

TESTS = [
    messages.test_a_text_comes_in_whole_and_goes_out_whole,
    messages.test_frames_may_come_byte_by_byte_or_many_at_once,
    messages.test_a_frame_may_follow_the_request_in_one_packet,
    messages.test_what_follows_a_violation_is_not_delivered,
    messages.test_many_large_and_small_messages_in_a_row_arrive_unharmed,
    messages.test_a_push_to_many_reaches_each_that_is_there,
    ending.test_a_reset_in_the_middle_of_a_frame_or_of_our_writing_harms_nobody,
    ending.test_a_lost_connection_is_told_as_1006,
    ending.test_a_peer_that_never_answers_a_close_is_hung_up_on,
    ending.test_a_slow_reader_that_reads_on_finds_everything_in_order_and_then_the_close,
    ending.test_a_reader_that_never_reads_is_closed_at_the_bound_and_memory_stays_bounded,
    opening.test_admission_may_take_its_time_and_nothing_is_lost_meanwhile,
    opening.test_dripping_bytes_does_not_buy_time,
]


@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.__name__)
def test_the_same_on_uvloop(name: BackendName, test: Callable[[BackendName], Awaitable[None]]) -> None:
    async def run() -> None:
        await test(name)

    uvloop.run(run())
