"""`tidings trace` on a healthy installation: each verdict, from rows and routes that real processes wrote."""

import pytest
from e2e.delivery.connected_device import Names, watching
from e2e.trace.asking import ask, state_of, trace, until_traced
from fixtures.gateway_process import connected
from fixtures.installation_processes import InstallationProcesses, RunningInstallation
from fixtures.use_cases import by

from tidings.app.wiring.chats import build_watermark_store
from tidings.delivery.model import ChatFlags
from tidings.kernel.ids import ChatId, ChatKey, UserId


def _key(installation: InstallationProcesses, chat: str) -> ChatKey:
    return ChatKey(installation._key(chat).tenant, ChatId(chat))


async def test_two_devices_delivered_and_then_read(
    running_installation: RunningInstallation, who: Names
) -> None:
    """The verdict is about the user: which of the two devices acknowledged is not stored."""
    installation, (one, two) = running_installation.processes, running_installation.ports
    chat = (await installation.direct(who.anna, who.ben)).chat
    async with (
        watching(installation, one, who.anna) as (anna,),
        watching(installation, two, who.ben) as (ben,),
        connected(installation, one, who.ben, device="laptop"),
    ):
        sent = (await anna.client.chat(chat).send("hello")).sequence
        told = await until_traced(installation, chat, sent, state_of(who.ben, "delivered"))
        assert (told.exit_code, told.outcome) == (0, "arrived")
        assert [each["id"] for each in told.of(who.ben)["devices"]] == ["laptop", "phone"]
        assert all(each["is_gateway_there"] for each in told.of(who.ben)["devices"])
        assert len({each["gateway"] for each in told.of(who.ben)["devices"]}) == 2
        assert told.of(who.anna)["state"] == "sender"
        assert told.trace["handled"]["is_handled"] is True
        published = told.trace["published"]
        assert told.trace["committed_at"] <= published["at"]
        assert published["offset"] is not None
        await ben.client.chat(chat).read(sent)
        told = await until_traced(installation, chat, sent, state_of(who.ben, "read"))
        assert told.of(who.ben)["verdict"].startswith("read at or before 20")
        assert told.trace["verdict"] == "Arrived: 1 of 1 have it, 1 have read it."


async def test_without_connected_devices_the_message_is_queued(
    running_installation: RunningInstallation, who: Names
) -> None:
    installation, (one, _) = running_installation.processes, running_installation.ports
    chat = (await installation.direct(who.anna, who.ben)).chat
    async with connected(installation, one, who.ben, device="phone"):
        pass
    async with watching(installation, one, who.anna) as (anna,):
        sent = (await anna.client.chat(chat).send("hello")).sequence
        told = await until_traced(installation, chat, sent, state_of(who.ben, "waiting"))
    assert (told.exit_code, told.outcome) == (0, "waiting")
    assert told.of(who.ben)["waiting_since"][:16] == told.trace["committed_at"][:16]
    assert f"(last seen at {told.of(who.ben)['last_seen_at']})" in told.of(who.ben)["verdict"]


async def test_a_connected_device_that_does_not_acknowledge(
    running_installation: RunningInstallation, who: Names
) -> None:
    installation, (one, two) = running_installation.processes, running_installation.ports
    chat = (await installation.direct(who.anna, who.ben)).chat
    async with (
        watching(installation, one, who.anna) as (anna,),
        connected(installation, two, who.ben, device="deaf"),
    ):
        sent = (await anna.client.chat(chat).send("hello")).sequence
        told = await until_traced(installation, chat, sent, state_of(who.ben, "not_acked"))
    assert (told.exit_code, told.outcome) == (3, "in_progress")
    assert told.of(who.ben)["verdict"].startswith("pushed to deaf, connected since")


async def test_former_members_later_members_and_non_members(
    running_installation: RunningInstallation, who: Names
) -> None:
    installation, (one, _) = running_installation.processes, running_installation.ports
    chat = await installation.group(who.anna, who.ben, who.cleo)
    left = await installation.remove(chat, who.anna, who.cleo)
    async with watching(installation, one, who.anna) as (anna,):
        sent = (await anna.client.chat(chat).send("without her")).sequence
    joined = await installation.add(chat, who.anna, who.dora)
    told = await until_traced(installation, chat, sent, state_of(who.ben, "waiting"))
    assert told.of(who.cleo)["verdict"] == f"left at sequence {left}: not for them"
    assert told.of(who.dora)["verdict"] == f"joined at sequence {joined}, after it: not for them"
    stranger = await trace(installation, chat, sent, "--user", who.emil)
    assert stranger.of(who.emil)["verdict"] == "has never been in this chat: not for them"
    assert [each["user"] for each in stranger.trace["recipients"]] == [who.emil]


async def test_muted_blocked_and_archived_are_reported_and_do_not_change_the_verdict(
    running_installation: RunningInstallation, who: Names
) -> None:
    installation, (one, _) = running_installation.processes, running_installation.ports
    chat = (await installation.direct(who.anna, who.ben)).chat
    async with watching(installation, one, who.anna) as (anna,):
        sent = (await anna.client.chat(chat).send("hello")).sequence
    async with installation.stage() as use_cases:
        flags = ChatFlags(muted_until_ms=use_cases.clock.now_ms() + 3_600_000, is_archived=True)
        watermarks = build_watermark_store(use_cases.client, use_cases.clock)
        await watermarks.set_flags(_key(installation, chat), UserId(who.ben), flags)
        await use_cases.manage.block(use_cases.tenant, by(UserId(who.ben)), UserId(who.anna), is_blocked=True)
    told = await until_traced(installation, chat, sent, state_of(who.ben, "waiting"))
    ben = told.of(who.ben)
    assert [note.split()[0:2] for note in ben["notes"]] == [
        ["blocks", "the"],
        ["has", "muted"],
        ["has", "archived"],
    ]
    assert (ben["muted_until"] is not None, ben["is_archived"]) == (True, True)


async def test_redacted(running_installation: RunningInstallation, who: Names) -> None:
    installation, (one, two) = running_installation.processes, running_installation.ports
    chat = (await installation.direct(who.anna, who.ben)).chat
    async with watching(installation, one, who.anna) as (anna,), watching(installation, two, who.ben):
        sent = (await anna.client.chat(chat).send("what I did not mean")).sequence
        await anna.client.chat(chat).redact(sent)
        told = await until_traced(installation, chat, sent, state_of(who.ben, "delivered"))
    assert "It was redacted at 20" in told.trace["verdict"]
    assert told.trace["redacted_at"] is not None


async def test_expired(running_installation: RunningInstallation, who: Names) -> None:
    installation, (one, two) = running_installation.processes, running_installation.ports
    chat = (await installation.direct(who.anna, who.ben)).chat
    async with watching(installation, one, who.anna) as (anna,), watching(installation, two, who.ben):
        sent = (await anna.client.chat(chat).send("for a moment", ttl_seconds=1)).sequence
        told = await until_traced(installation, chat, sent, lambda told: told.trace["is_expired"])
    assert "It expired at 20" in told.trace["verdict"]


async def test_a_large_chat_lists_no_members_unless_requested(
    running_installation: RunningInstallation, who: Names
) -> None:
    installation, (one, two) = running_installation.processes, running_installation.ports
    chat = await installation.group(who.anna, who.ben, *who.many(120))
    async with watching(installation, one, who.anna) as (anna,), watching(installation, two, who.ben):
        sent = (await anna.client.chat(chat).send("all of you")).sequence
        await until_traced(installation, chat, sent, state_of(who.ben, "delivered"), "--user", who.ben)
        told = await trace(installation, chat, sent, "--cost", "--user", who.ben, "--user", who.many(1)[0])
        assert told.of(who.many(1)[0])["state"] == "offline"
        assert sum(told.trace["cost"].values()) < 20
        told = await trace(installation, chat, sent, "--cost")
    assert (told.exit_code, told.outcome, told.trace["recipients"]) == (0, "unlisted", [])
    reads = {"tenants.read_epoch", "messages.read_one", "chats.check", "counters.read_many"}
    assert set(told.trace["cost"]) == reads


async def test_a_trace_reads_the_same_for_any_chat_size_and_writes_nothing(
    running_installation: RunningInstallation, who: Names
) -> None:
    installation, (one, _) = running_installation.processes, running_installation.ports
    chat = await installation.group(who.anna, *who.many(99))
    async with watching(installation, one, who.anna) as (anna,):
        sent = (await anna.client.chat(chat).send("all of you")).sequence
    await until_traced(installation, chat, sent, state_of(who.many(1)[0], "waiting"))
    told = await ask(installation, f"{chat}.{sent}", "--tenant", installation.space.tenant, "--cost")
    assert "no writes" in told.text
    calls = int(told.text.partition("read with ")[2].split()[0])
    assert calls == 6, told.text


@pytest.mark.parametrize(
    ("words", "exit_code", "said"),
    [
        (["{tenant}#{chat}.99"], 1, "Entry 99 does not exist: the last entry of the chat is 1."),
        (["{tenant}#gNONE.1"], 1, "has no chat 'gNONE'"),
        (["nobody#{chat}.1"], 1, "The tenant 'nobody' has no chat"),
        (["{tenant}#{chat}"], 1, "is not a message id"),
        (["{chat}.1", "--tenant", "x" * 40], 1, "Not a valid id"),
        (["{chat}.1"], 2, "The tenant is missing"),
        (["{tenant}#{chat}.1", "--tenant", "other"], 2, "--tenant says other"),
    ],
)
async def test_a_missing_message_is_reported(
    running_installation: RunningInstallation, who: Names, words: list[str], exit_code: int, said: str
) -> None:
    installation = running_installation.processes
    chat = (await installation.direct(who.anna, who.ben)).chat
    told = await ask(
        installation, *(word.format(tenant=installation.space.tenant, chat=chat) for word in words)
    )
    assert (told.exit_code, said in told.stderr) == (exit_code, True), told


async def test_the_text_of_the_message_is_never_printed(
    running_installation: RunningInstallation, who: Names
) -> None:
    installation, (one, _) = running_installation.processes, running_installation.ports
    chat = (await installation.direct(who.anna, who.ben)).chat
    async with watching(installation, one, who.anna) as (anna,):
        sent = (await anna.client.chat(chat).send("xyzzy plugh")).sequence
        await anna.client.chat(chat).edit(sent, "plover")
    message = f"{installation.space.tenant}#{chat}.{sent}"
    printed = [await ask(installation, message), await ask(installation, message, "--json", "--cost")]
    assert not [told for told in printed if "xyzzy" in told.text + told.stderr or "plover" in told.text]
