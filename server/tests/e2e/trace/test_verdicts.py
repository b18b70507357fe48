"""`tidings trace` on a healthy installation: each verdict, from rows and routes that real processes wrote."""

import pytest
from e2e.delivery.connected_device import Names, watching
from e2e.trace.trace_command import ask, state_of, trace, until_traced
from fixtures.gateway_process import connected
from fixtures.installation_processes import InstallationProcesses, RunningInstallation
from fixtures.use_cases import by

from tidings.app.wiring.chats import build_watermark_store
from tidings.delivery.model import ChatFlags
from tidings.kernel.ids import ChatId, ChatKey, UserId


def _key(installation: InstallationProcesses, chat: str) -> ChatKey:
    return ChatKey(installation._key(chat).tenant, ChatId(chat))


async def test_two_devices_delivered_and_then_read(
    running_installation: RunningInstallation, names: Names
) -> None:
    """The verdict is about the user: which of the two devices acknowledged is not stored."""
    installation, (one, two) = running_installation.processes, running_installation.ports
    chat = (await installation.direct(names.anna, names.ben)).chat
    async with (
        watching(installation, one, names.anna) as (anna,),
        watching(installation, two, names.ben) as (ben,),
        connected(installation, one, names.ben, device="laptop"),
    ):
        sent = (await anna.client.chat(chat).send("hello")).sequence
        traced = await until_traced(installation, chat, sent, state_of(names.ben, "delivered"))
        assert (traced.exit_code, traced.outcome) == (0, "arrived")
        assert [each["id"] for each in traced.of(names.ben)["devices"]] == ["laptop", "phone"]
        assert all(each["is_gateway_there"] for each in traced.of(names.ben)["devices"])
        assert len({each["gateway"] for each in traced.of(names.ben)["devices"]}) == 2
        assert traced.of(names.anna)["state"] == "sender"
        assert traced.trace["handled"]["is_handled"] is True
        published = traced.trace["published"]
        assert traced.trace["committed_at"] <= published["at"]
        assert published["offset"] is not None
        await ben.client.chat(chat).read(sent)
        traced = await until_traced(installation, chat, sent, state_of(names.ben, "read"))
        assert traced.of(names.ben)["verdict"].startswith("read at or before 20")
        assert traced.trace["verdict"] == "Arrived: 1 of 1 have it, 1 have read it."


async def test_without_connected_devices_the_message_is_queued(
    running_installation: RunningInstallation, names: Names
) -> None:
    installation, (one, _) = running_installation.processes, running_installation.ports
    chat = (await installation.direct(names.anna, names.ben)).chat
    async with connected(installation, one, names.ben, device="phone"):
        pass
    async with watching(installation, one, names.anna) as (anna,):
        sent = (await anna.client.chat(chat).send("hello")).sequence
        traced = await until_traced(installation, chat, sent, state_of(names.ben, "waiting"))
    assert (traced.exit_code, traced.outcome) == (0, "waiting")
    assert traced.of(names.ben)["waiting_since"][:16] == traced.trace["committed_at"][:16]
    assert f"(last seen at {traced.of(names.ben)['last_seen_at']})" in traced.of(names.ben)["verdict"]


async def test_a_connected_device_that_does_not_acknowledge(
    running_installation: RunningInstallation, names: Names
) -> None:
    installation, (one, two) = running_installation.processes, running_installation.ports
    chat = (await installation.direct(names.anna, names.ben)).chat
    async with (
        watching(installation, one, names.anna) as (anna,),
        connected(installation, two, names.ben, device="deaf"),
    ):
        sent = (await anna.client.chat(chat).send("hello")).sequence
        traced = await until_traced(installation, chat, sent, state_of(names.ben, "not_acked"))
    assert (traced.exit_code, traced.outcome) == (3, "in_progress")
    assert traced.of(names.ben)["verdict"].startswith("pushed to deaf, connected since")


async def test_former_members_later_members_and_non_members(
    running_installation: RunningInstallation, names: Names
) -> None:
    installation, (one, _) = running_installation.processes, running_installation.ports
    chat = await installation.group(names.anna, names.ben, names.cleo)
    left = await installation.remove(chat, names.anna, names.cleo)
    async with watching(installation, one, names.anna) as (anna,):
        sent = (await anna.client.chat(chat).send("without her")).sequence
    joined = await installation.add(chat, names.anna, names.dora)
    traced = await until_traced(installation, chat, sent, state_of(names.ben, "offline"))
    assert "as groups have no offline queue" in traced.of(names.ben)["verdict"]
    assert traced.of(names.cleo)["verdict"] == f"left at sequence {left}: not for them"
    assert traced.of(names.dora)["verdict"] == f"joined at sequence {joined}, after it: not for them"
    non_member = await trace(installation, chat, sent, "--user", names.emil)
    assert non_member.of(names.emil)["verdict"] == "has never been in this chat: not for them"
    assert [each["user"] for each in non_member.trace["recipients"]] == [names.emil]


async def test_muted_blocked_and_archived_are_reported_and_do_not_change_the_verdict(
    running_installation: RunningInstallation, names: Names
) -> None:
    installation, (one, _) = running_installation.processes, running_installation.ports
    chat = (await installation.direct(names.anna, names.ben)).chat
    async with watching(installation, one, names.anna) as (anna,):
        sent = (await anna.client.chat(chat).send("hello")).sequence
    async with installation.use_cases() as use_cases:
        flags = ChatFlags(muted_until_ms=use_cases.clock.now_ms() + 3_600_000, is_archived=True)
        watermarks = build_watermark_store(use_cases.client, use_cases.clock)
        await watermarks.set_flags(_key(installation, chat), UserId(names.ben), flags)
        await use_cases.manage.block(
            use_cases.tenant, by(UserId(names.ben)), UserId(names.anna), is_blocked=True
        )
    traced = await until_traced(installation, chat, sent, state_of(names.ben, "waiting"))
    ben = traced.of(names.ben)
    assert [note.split()[0:2] for note in ben["notes"]] == [
        ["blocks", "the"],
        ["has", "muted"],
        ["has", "archived"],
    ]
    assert (ben["muted_until"] is not None, ben["is_archived"]) == (True, True)


async def test_redacted(running_installation: RunningInstallation, names: Names) -> None:
    installation, (one, two) = running_installation.processes, running_installation.ports
    chat = (await installation.direct(names.anna, names.ben)).chat
    async with watching(installation, one, names.anna) as (anna,), watching(installation, two, names.ben):
        sent = (await anna.client.chat(chat).send("what I did not mean")).sequence
        await anna.client.chat(chat).redact(sent)
        traced = await until_traced(installation, chat, sent, state_of(names.ben, "delivered"))
    assert "It was redacted at 20" in traced.trace["verdict"]
    assert traced.trace["redacted_at"] is not None


async def test_expired(running_installation: RunningInstallation, names: Names) -> None:
    installation, (one, two) = running_installation.processes, running_installation.ports
    chat = (await installation.direct(names.anna, names.ben)).chat
    async with watching(installation, one, names.anna) as (anna,), watching(installation, two, names.ben):
        sent = (await anna.client.chat(chat).send("for a moment", ttl_seconds=1)).sequence
        traced = await until_traced(installation, chat, sent, lambda traced: traced.trace["is_expired"])
    assert "It expired at 20" in traced.trace["verdict"]


async def test_a_large_chat_lists_no_members_unless_requested(
    running_installation: RunningInstallation, names: Names
) -> None:
    installation, (one, two) = running_installation.processes, running_installation.ports
    chat = await installation.group(names.anna, names.ben, *names.many(120))
    async with watching(installation, one, names.anna) as (anna,), watching(installation, two, names.ben):
        sent = (await anna.client.chat(chat).send("all of you")).sequence
        await until_traced(installation, chat, sent, state_of(names.ben, "delivered"), "--user", names.ben)
        traced = await trace(
            installation, chat, sent, "--cost", "--user", names.ben, "--user", names.many(1)[0]
        )
        assert traced.of(names.many(1)[0])["state"] == "offline"
        assert sum(traced.trace["cost"].values()) < 20
        traced = await trace(installation, chat, sent, "--cost")
    assert (traced.exit_code, traced.outcome, traced.trace["recipients"]) == (0, "unlisted", [])
    reads = {"tenants.read_epoch", "messages.read_one", "chats.check", "counters.read_many"}
    assert set(traced.trace["cost"]) == reads


async def test_a_trace_reads_the_same_for_any_chat_size_and_writes_nothing(
    running_installation: RunningInstallation, names: Names
) -> None:
    installation, (one, _) = running_installation.processes, running_installation.ports
    chat = await installation.group(names.anna, *names.many(99))
    async with watching(installation, one, names.anna) as (anna,):
        sent = (await anna.client.chat(chat).send("all of you")).sequence
    await until_traced(installation, chat, sent, state_of(names.many(1)[0], "offline"))
    traced = await ask(installation, f"{chat}.{sent}", "--tenant", installation.space.tenant, "--cost")
    assert "no writes" in traced.text
    calls = int(traced.text.partition("read with ")[2].split()[0])
    assert calls == 7, traced.text


@pytest.mark.parametrize(
    ("words", "exit_code", "message"),
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
    running_installation: RunningInstallation, names: Names, words: list[str], exit_code: int, message: str
) -> None:
    installation = running_installation.processes
    chat = (await installation.direct(names.anna, names.ben)).chat
    traced = await ask(
        installation, *(word.format(tenant=installation.space.tenant, chat=chat) for word in words)
    )
    assert (traced.exit_code, message in traced.stderr) == (exit_code, True), traced


async def test_the_text_of_the_message_is_never_printed(
    running_installation: RunningInstallation, names: Names
) -> None:
    installation, (one, _) = running_installation.processes, running_installation.ports
    chat = (await installation.direct(names.anna, names.ben)).chat
    async with watching(installation, one, names.anna) as (anna,):
        sent = (await anna.client.chat(chat).send("xyzzy plugh")).sequence
        await anna.client.chat(chat).edit(sent, "plover")
    message = f"{installation.space.tenant}#{chat}.{sent}"
    printed = [await ask(installation, message), await ask(installation, message, "--json", "--cost")]
    assert not [
        traced for traced in printed if "xyzzy" in traced.text + traced.stderr or "plover" in traced.text
    ]
