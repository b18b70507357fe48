"""A gateway copies the heads of quiet groups into rows, and devices still receive every entry."""

from fixtures.gateway_env import WITHIN_S, GatewayEnv, HeldMessages, InProcessGateway
from fixtures.loops import until
from fixtures.use_cases import ANNA, BEN, CLEO

from tidings.gateway.resume.resume_deps import ResumeOptions
from tidings.kernel.ids import ChatKey

AT_ONCE = ResumeOptions(quiet_after_s=0.0)


async def test_a_device_that_connects_again_reads_no_head_of_a_quiet_group(gateways: GatewayEnv) -> None:
    here, chat = await _quiet_group(gateways)
    reads = gateways.use_cases.client.ledger["counters.read_many"]
    before = reads.read_units
    tablet = await here.live(BEN, "second")
    assert reads.read_units - before == 1, "the head of one group, for the preview that a new device shows"
    [row] = tablet.rows()
    assert row["preview"] == "hello"
    assert tablet.sequences(chat)[-1] == 2


async def test_the_next_message_of_a_quiet_group_reaches_connected_and_later_devices(
    gateways: GatewayEnv,
) -> None:
    here, chat = await _quiet_group(gateways)
    ben = await here.live(BEN, "second")
    sent = await gateways.say(chat, ANNA, "news")
    await until(lambda: ben.sequences(chat)[-1:] == [sent], WITHIN_S)
    cleo = await here.live(CLEO)
    assert cleo.sequences(chat)[-1] == sent


async def test_a_message_that_is_delivered_while_a_device_reads_a_quiet_row_is_received(
    gateways: GatewayEnv,
) -> None:
    _, chat = await _quiet_group(gateways)
    held = HeldMessages("gateway.read")
    here = await gateways.gateway(held, resume=AT_ONCE)
    ben = here.open(BEN, "second")
    await until(held.reached.is_set, WITHIN_S)
    sent = await gateways.say(chat, ANNA, "meanwhile")
    held.let_on()
    await until(lambda: ben.sequences(chat)[-1:] == [sent], WITHIN_S)


async def _quiet_group(gateways: GatewayEnv) -> tuple[InProcessGateway, ChatKey]:
    """Return a gateway that has copied the head of a group into the row of Ben."""
    chat = await gateways.use_cases.group(BEN, CLEO)
    await gateways.say(chat, ANNA, "hello")
    here = await gateways.gateway(resume=AT_ONCE)
    (await here.live(BEN)).hang_up()
    await until(lambda: here.node.quiet_rows.copied == 1, WITHIN_S)
    return here, chat
