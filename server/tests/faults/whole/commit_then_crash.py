"""Kill a process between commit and publish: the entry is in the log, and no event was published for it."""

from faults.whole.fault import Fault, FaultRun

_UNREACHABLE = "127.0.0.1:9"


async def inflict(doing: FaultRun) -> None:
    """Start a gateway that cannot reach Kafka, let it acknowledge sends, and kill it before it can publish them."""
    stand = doing.stand
    for _ in doing.rounds(2):
        (mute,) = await stand.start("gateway", KAFKA_BOOTSTRAP_SERVERS=_UNREACHABLE)
        for device in list(doing.load.light_devices())[::3]:
            device.cut()
        await doing.load.sent_more(30)
        doing.load.step("kill -9 a gateway with unpublished commits")
        await stand.kill(mute)
        await doing.load.sent_more(10)


FAULT = Fault(
    name="crash between commit and publish",
    invariant="Every committed entry is delivered, perhaps late: the relay finds unpublished entries.",
    fault="a gateway that cannot reach Kafka accepts and acknowledges sends, and is killed with -9",
    inflict=inflict,
)
