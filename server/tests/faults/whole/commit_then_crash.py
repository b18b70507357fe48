"""A process dies between the commit and the publish: the entry is in the log, and nobody has been told."""

from faults.whole.fault import Fault, FaultRun

_NOBODY = "127.0.0.1:9"


async def inflict(doing: FaultRun) -> None:
    """A gateway that reaches no broker commits and acknowledges, as promised, and has all of it still to publish."""
    stand = doing.stand
    for _ in doing.rounds(2):
        (mute,) = await stand.start("gateway", KAFKA_BOOTSTRAP_SERVERS=_NOBODY)
        for device in list(doing.load.light_devices())[::3]:
            device.cut()
        await doing.load.sent_more(30)
        doing.load.step("kill -9 of what has committed and not published")
        await stand.kill(mute)
        await doing.load.sent_more(10)


FAULT = Fault(
    name="crash between commit and publish",
    invariant="Every committed entry is delivered, perhaps late: the relay finds unpublished entries.",
    fault="a gateway that cannot reach Kafka accepts and acknowledges sends, and is killed with -9",
    inflict=inflict,
)
