"""Kill a process between commit and publish: the entry is in the log, and no event was published for it."""

from faults.whole.fault import Fault, FaultRun

_UNREACHABLE = "127.0.0.1:9"


async def inflict(run: FaultRun) -> None:
    """Start a gateway that cannot reach Kafka, let it acknowledge sends, and kill it before it can publish them."""
    installation = run.installation
    for _ in run.rounds(2):
        (mute,) = await installation.start("gateway", KAFKA_BOOTSTRAP_SERVERS=_UNREACHABLE)
        for device in list(run.load.light_devices())[::3]:
            device.cut()
        await run.load.sent_more(30)
        run.load.step("kill -9 a gateway with unpublished commits")
        await installation.kill(mute)
        await run.load.sent_more(10)


FAULT = Fault(
    name="crash between commit and publish",
    invariant="Every committed entry is delivered, perhaps late: the relay finds unpublished entries.",
    fault="a gateway that cannot reach Kafka accepts and acknowledges sends, and is killed with -9",
    inflict=inflict,
)
