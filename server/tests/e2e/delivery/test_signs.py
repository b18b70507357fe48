"""Receipts, typing and presence on real processes: two gateways, a worker, the API, and engines that may be emptied."""

from e2e.delivery.chat_list_reader import LONG_S, looking, rest
from fixtures.installation_processes import InstallationProcess, InstallationProcesses
from fixtures.loops import until

from tidings.accounts.store.users import DynamoUserStore
from tidings.accounts.users import UserService
from tidings.kernel.ids import UserId

QUICK = {
    "GATEWAY_ACK_FLUSH_S": "0.05",
    "GATEWAY_LEASE_S": "6",
    "GATEWAY_RENEW_EVERY_S": "1",
    "EPHEMERAL_PRESENCE_GRACE_S": "2",
}


def started(
    installation: InstallationProcesses,
) -> tuple[InstallationProcess, InstallationProcess, InstallationProcess]:
    """Start processes one after the other. On a busy machine, four at once would all exceed their start deadline."""
    (one,), (two,), (api,), _ = (
        installation.ready("gateway", **QUICK),
        installation.ready("gateway", **QUICK),
        installation.ready("api", **QUICK),
        installation.ready("delivery", **QUICK),
    )
    return one, two, api


async def test_delivery_status_advances_and_a_read_reaches_the_users_other_devices(
    installation: InstallationProcesses,
) -> None:
    one, two, api = started(installation)
    api_port = api.wait_for("listening")["port"]
    chat, group = (
        (await installation.direct("anna", "ben")).chat,
        await installation.group("anna", "ben", "cleo"),
    )
    async with (
        looking(installation, one.socket_port, "anna") as anna,
        looking(installation, two.socket_port, "ben") as phone,
        looking(installation, one.socket_port, "ben", "laptop") as laptop,
        looking(installation, two.socket_port, "cleo") as cleo,
    ):
        for each in (chat, group):
            await anna.send(each)
            await phone.holds(each, 2)
        await anna.looks(chat, group)
        assert (anna.got(chat, "ben", "delivered"), anna.got(chat, "ben", "read")) == (0, 0)
        await phone.say(ack={"delivered": {chat: 2, group: 2}})
        await anna.knows(chat, "ben", "delivered", 2)
        await anna.knows(group, "ben", "delivered", 2)
        assert anna.got(chat, "ben", "read") == 0
        await phone.say(read={"chat": chat, "sequence": 2})
        await anna.knows(chat, "ben", "read", 2)
        await laptop.knows(chat, "ben", "read", 2)
        # a read over REST reaches both as well
        await rest(installation, api_port, "ben", f"PUT /v1/chats/{group}/read", {"sequence": 2})
        await anna.knows(group, "ben", "read", 2)
        await phone.knows(group, "ben", "read", 2)
        status = await rest(installation, api_port, "anna", f"GET /v1/messages/{group}.2/status")
        assert (status["status"], status["read_by"]) == ("SENT", ["ben"]), "cleo has yet to get it"
        await cleo.say(read={"chat": group, "sequence": 2})
        await anna.knows(group, "cleo", "read", 2)
        # A member who left receives no more events. Typing goes to current members.
        await cleo.looks(group)
        await rest(installation, api_port, "anna", f"DELETE /v1/chats/{group}/members/cleo")
        await cleo.holds(group, 3)
        await anna.send(group)
        await laptop.holds(group, 4)
        received = len(cleo.pushed("receipts"))
        await phone.say(typing={"chat": group})
        await until(lambda: anna.typing(group) == [("ben", True)], LONG_S)
        phone.cut()
        await until(lambda: anna.typing(group) == [("ben", True), ("ben", False)], LONG_S)
        await laptop.say(read={"chat": group, "sequence": 4})
        await anna.knows(group, "ben", "read", 4)
        assert (cleo.typing(group), len(cleo.pushed("receipts"))) == ([], received)
        assert [process.faults() for process in (one, two, api)] == [[], [], []]


async def test_a_block_stops_ephemeral_events_between_two_users(installation: InstallationProcesses) -> None:
    one, two, api = started(installation)
    api_port = api.wait_for("listening")["port"]
    chat, group = (await installation.direct("anna", "ben")).chat, await installation.group("anna", "ben")
    async with (
        looking(installation, one.socket_port, "anna") as anna,
        looking(installation, two.socket_port, "ben") as ben,
    ):
        for each in (chat, group):
            await anna.send(each)
            await ben.holds(each, 2)
            await anna.holds(each, 2)
        await anna.looks(chat, group)
        await anna.say(subscribe={"users": ["ben"]})
        await anna.sees("ben", "online")
        await rest(installation, api_port, "ben", "PUT /v1/blocks/anna")
        await anna.holds(chat, 3)
        await anna.sees("ben", "offline")
        received = [r for r in anna.pushed("receipts") if r["chat"] == chat]
        await ben.say(typing={"chat": chat})
        await ben.say(read={"chat": chat, "sequence": 2})
        await ben.say(typing={"chat": group})
        await ben.say(read={"chat": group, "sequence": 2})
        await anna.knows(group, "ben", "read", 2)
        await until(lambda: anna.typing(group) == [("ben", True)], LONG_S)
        assert anna.typing(chat) == []
        assert [r for r in anna.pushed("receipts") if r["chat"] == chat] == received
        await rest(installation, api_port, "ben", "DELETE /v1/blocks/anna")
        await anna.sees("ben", "online")
        await anna.knows(chat, "ben", "read", 2)


async def test_presence_is_sent_to_permitted_users_and_recovers_after_redis_is_emptied(
    installation: InstallationProcesses,
) -> None:
    one, two, api = started(installation)
    api_port = api.wait_for("listening")["port"]
    chat, other = (
        (await installation.direct("anna", "ben")).chat,
        (await installation.direct("anna", "cleo")).chat,
    )
    async with installation.use_cases() as use_cases:
        rows = DynamoUserStore(use_cases.client, use_cases.ring, use_cases.user_keys)
        await UserService(rows, use_cases.clock).create(use_cases.tenant, UserId("ben"))
    async with looking(installation, one.socket_port, "anna") as anna:
        for each in (chat, other):
            await anna.send(each)
            await anna.holds(each, 2)
        await rest(installation, api_port, "cleo", "PUT /v1/blocks/anna")
        await anna.holds(other, 3)
        await anna.say(subscribe={"users": ["ben", "cleo", "stranger"]})
        for user in ("ben", "cleo", "stranger"):
            await anna.sees(user, "offline")
        async with (
            looking(installation, two.socket_port, "ben") as ben,
            looking(installation, two.socket_port, "cleo"),
            looking(installation, two.socket_port, "stranger"),
        ):
            await anna.sees("ben", "online")
            await ben.say(presence={"status": "away"})
            await anna.sees("ben", "away")
            installation.flush_redis()
            async with looking(installation, two.socket_port, "ben", "laptop"):
                await anna.sees("ben", "online")
            # The phone's gateway restores its route and its presence status.
            await anna.sees("ben", "away")
            seen = await rest(installation, api_port, "anna", "GET /v1/users/ben/presence")
            assert seen == {"user": "ben", "status": "away"}
            received = len(anna.presence("ben"))
            await rest(installation, api_port, "ben", "PATCH /v1/me", {"last_seen": "nobody"})
            await anna.sees("ben", "offline")
            assert "at" not in anna.pushed("presence")[-1]
            hidden = await rest(installation, api_port, "anna", "GET /v1/users/ben/presence")
            assert hidden == {"user": "ben", "status": "offline"}
            await rest(installation, api_port, "ben", "PATCH /v1/me", {"last_seen": "members"})
            await anna.sees("ben", "away")
            assert len(anna.presence("ben")) >= received + 2
            two.popen.kill()
        await anna.sees("ben", "offline")
        assert anna.pushed("presence")[-1]["at"] > 0
        assert anna.presence("cleo") == anna.presence("stranger") == ["offline"]
        assert one.faults() == api.faults() == []
