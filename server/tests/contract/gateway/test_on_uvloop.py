"""The main tests of the contract on uvloop, which the gateway uses. The rest of the suite runs on asyncio's loop."""

from collections.abc import Awaitable, Callable

import pytest
import uvloop
from contract.gateway import test_ending as ending
from contract.gateway import test_messages as messages
from contract.gateway import test_opening as opening

from tidings.gateway.transport.websockets_transport import BackendName

TESTS = [
    messages.test_a_text_is_received_and_sent_unchanged,
    messages.test_frames_may_arrive_byte_by_byte_or_many_at_once,
    messages.test_a_frame_may_follow_the_request_in_one_packet,
    messages.test_frames_after_a_violation_are_not_delivered,
    messages.test_large_and_small_messages_in_sequence_arrive_unchanged,
    messages.test_a_push_to_many_reaches_every_open_connection,
    ending.test_a_reset_during_a_read_or_write_affects_no_other_connection,
    ending.test_a_lost_connection_is_reported_as_1006,
    ending.test_a_peer_that_never_answers_a_close_is_disconnected,
    ending.test_a_slow_reader_gets_everything_in_order_and_then_the_close,
    ending.test_a_reader_that_never_reads_is_closed_at_the_bound_and_memory_stays_bounded,
    opening.test_frames_sent_during_a_slow_admission_are_not_lost,
    opening.test_sending_byte_by_byte_does_not_extend_the_deadline,
]


@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.__name__)
def test_messages_and_closes_work_on_uvloop(
    name: BackendName, test: Callable[[BackendName], Awaitable[None]]
) -> None:
    async def run() -> None:
        await test(name)

    uvloop.run(run())
