"""A device that was offline for 31 days, longer than the offline queue keeps entries, still gets every entry."""

from e2e.delivery.connected_device import ConnectedClient, watching
from fixtures.installation_processes import InstallationProcesses

_31_DAYS_S = str(31 * 86_400)


async def test_after_31_days_a_device_gets_everything_without_the_offline_queue(
    installation: InstallationProcesses,
) -> None:
    now, worker = installation.ready("gateway", "delivery")
    direct, group = (
        (await installation.direct("anna", "ben")).chat,
        await installation.group("anna", "ben", "cleo"),
    )
    ben = ConnectedClient(installation, now.socket_port, "ben")
    async with watching(installation, now.socket_port, "anna") as (anna,):
        async with ben:
            await ben.live()
            await anna.client.chat(direct).send("see you")
            await anna.client.chat(group).send("see you all")
            await ben.holds(direct, [1, 2])
            await ben.holds(group, [1, 2])
        for number in range(60):
            await anna.client.chat(direct).send(f"{number}")
        await anna.client.chat(group).send("one more")
        await anna.holds(direct, range(1, 63))
    worker.popen.terminate()
    assert worker.exit_code() == 0
    later, _ = installation.ready("gateway", "delivery", FAILPOINTS_CLOCK_OFFSET_S=_31_DAYS_S)
    ben.move_to(later.socket_port, credential_from_s=31 * 86_400)
    async with ben:
        await ben.holds(direct, range(1, 63))
        await ben.holds(group, [1, 2, 3])
