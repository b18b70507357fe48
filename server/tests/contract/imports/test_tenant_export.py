"""A tenant that is exported and imported into another one: each user reads the same through REST."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from contract.imports.test_import import deps_of
from fixtures.export_env import ExportEnv
from fixtures.kill_at import KillAt, KilledError
from fixtures.media_env import MediaEnv
from fixtures.rest_app import Caller, RestApp
from fixtures.use_cases import ANNA, BEN, CLEO, DORA, UseCaseEnv, asked, by, code_of

from tidings.app.wiring.exports import build_tenant_export
from tidings.app.wiring.imports import ProductChecks
from tidings.chats.model import ChatType, chat_type, direct_chat_key
from tidings.imports import tenant_export
from tidings.imports.importer import Importer
from tidings.imports.model import ChatLine, imported_chat_key
from tidings.imports.ports import ExportState
from tidings.imports.reader import ImportFolder, read_lines
from tidings.imports.store.export_directory import open_export_directory
from tidings.imports.tenant_export import TenantExporter
from tidings.imports.validation import ImportValidator
from tidings.kernel.errors import Code
from tidings.kernel.failpoints import NO_FAILPOINTS, Failpoints
from tidings.kernel.ids import ChatKey, TenantId, UserId, initial_epoch
from tidings.media.file_import import FileImporter
from tidings.messages.sender import Content

LOCAL = {"id", "sequence", "client_message_id", "status", "reply_to", "attachments"}
"""Fields with an id or sequence of the log, and the delivery status."""


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tenant_export, "PAGE_ENTRIES", 3)
    monkeypatch.setattr(tenant_export, "PAGE_USERS", 2)


async def export(
    env: ExportEnv, failpoints: Failpoints = NO_FAILPOINTS, tenant: TenantId | None = None
) -> ExportState:
    """Export as the command does."""
    cases = env.use_cases
    deps = build_tenant_export(
        cases.client,
        cases.ring,
        cases.user_keys,
        cases.clock,
        objects=env.media.bucket,
        epoch=initial_epoch,
        failpoints=failpoints,
    )
    with open_export_directory(env.directory / "export") as directory:
        state = directory.load(tenant or cases.tenant)
        done = await TenantExporter(deps, directory, state).run()
        directory.finish()
    return done


def exported(env: ExportEnv, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (env.directory / "export" / name).read_text().splitlines()]


@dataclass
class Copy:
    """The tenant that an export was imported into."""

    media: MediaEnv
    use_cases: UseCaseEnv
    api: RestApp

    def chat(self, chat: ChatKey, members: Sequence[UserId]) -> ChatKey:
        if chat_type(chat.chat) is ChatType.DIRECT:
            one, other = members
            return direct_chat_key(self.use_cases.tenant, one, other)
        line = ChatLine(id=chat.chat, kind="group")
        return imported_chat_key(self.use_cases.tenant, "tidings", line, ())


async def imported(env: ExportEnv) -> Copy:
    """Import the exported files into another tenant, as the command does."""
    cases = UseCaseEnv(env.use_cases.client, f"{env.use_cases.tenant}-copy", env.use_cases.key_file)
    cases.clock.ahead_ms = env.use_cases.clock.ahead_ms
    media, folder = MediaEnv(cases, env.media.bucket), env.directory / "export"
    files = [folder / "users.jsonl", folder / "chats.jsonl"]
    checks = ProductChecks(ImportFolder(folder), media.policy)
    report = ImportValidator(checks, cases.clock.now_ms()).validate(read_lines(files))
    assert report.problems == []
    store = FileImporter(media.uploads, media.bucket, media.tasks, media.policy, cases.clock).store
    deps = replace(deps_of(cases), checks=checks, store_file=store)
    done = await Importer(deps, cases.tenant).run(read_lines(files))
    assert (done.skipped, done.chats_known, done.users_known) == ([], 0, 0)
    return Copy(media, cases, RestApp(cases))


async def messages(env: ExportEnv, media: MediaEnv, reader: Caller, chat: ChatKey) -> list[dict[str, Any]]:
    """Return the messages of a chat that a user reads, without ids of their tenant."""
    entries = await env.readable_entries(reader, chat.chat)
    own = [entry for entry in entries if entry["kind"] == "message"]
    places = {entry["sequence"]: place for place, entry in enumerate(own)}
    found = []
    for entry in own:
        kept = {name: value for name, value in entry.items() if name not in LOCAL}
        if entry["state"] == "expired" or "expires_at" in entry:
            kept = {name: kept[name] for name in ("kind", "sender", "created_at")} | {
                "state": "redacted",
                "redacted_at": entry["created_at"],
            }
        elif entry.get("attachments"):
            kept.pop("data", None)
            kept["files"] = await files(media, entry["attachments"])
        if "reply_to" in entry and entry["reply_to"] in places:
            kept["reply_to"] = places[entry["reply_to"]]
        found.append(kept)
    return found


async def files(media: MediaEnv, ids: Sequence[str]) -> list[tuple[str, str, bytes]]:
    rows = await media.uploads.find_many(media.tenant, ids)
    return [
        (row.name, row.type, b"".join([part async for part in media.bucket.read(row.main)]))
        for row in (rows[upload] for upload in ids)
    ]


def listed(chat: dict[str, Any]) -> dict[str, Any]:
    """Return what the list of chats shows, without what an import does not carry."""
    kept = ("type", "name", "is_member", "member_count", "message_count")
    last = chat.get("last", {})
    return {name: chat.get(name) for name in kept} | {
        "members": sorted(chat["members"]),
        "last": [last.get(name) for name in ("at", "sender", "text")],
    }


async def check_same(env: ExportEnv, copy: Copy, users: Sequence[UserId] = (ANNA, BEN, CLEO, DORA)) -> int:
    compared = 0
    for user in users:
        before, after = env.api.user(user), copy.api.user(user)
        new = {chat["id"]: chat for chat in await env.readable_chats(after)}
        old = await env.readable_chats(before)
        assert len(old) == len(new), user
        for chat in old:
            key = ChatKey(env.use_cases.tenant, chat["id"])
            copied = copy.chat(key, [user, *chat["members"]][:2])
            if chat["type"] == "direct":
                chat["message_count"] = new[copied.chat]["message_count"]
            assert listed(new[copied.chat]) == listed(chat)
            assert await messages(env, copy.media, after, copied) == await messages(
                env, env.media, before, key
            ), (user, chat)
            compared += 1
    return compared


async def populate(env: ExportEnv) -> dict[str, ChatKey]:
    chats = await env.populate()
    cases = env.use_cases
    fans = [UserId(f"fan-{n}") for n in range(25)]
    chat = await cases.group(BEN, CLEO, *fans)
    first = (await cases.send(chat, ANNA, "first")).sequence
    for reply_to in (first, first + 2, 999):  # a message, a join, nothing
        content = Content(text="reply", reply_to=reply_to, mentions=(BEN, UserId("unknown")), data={"a": [1]})
        await cases.sender.send(chat, BEN, by(BEN).client_key, content, after=1)
        await cases.commands.add(chat, by(ANNA), [UserId(f"joined-{reply_to}")])
    for user in fans:
        await cases.change.react(asked(chat, user, first), "🎉")
    await env.api.settle()
    return chats | {"busy": chat}


async def test_each_user_reads_the_same_in_the_tenant_of_the_import(exports: ExportEnv) -> None:
    chats = await populate(exports)
    done = await export(exports)
    assert done.left_out == {"contents of messages that expire": 2}
    copy = await imported(exports)
    assert await check_same(exports, copy) >= 10
    profile = await copy.api.user(ANNA).ok("GET", "/v1/me")
    assert profile["display_name"] == "Anna <b>A</b>"
    reader = copy.api.user(BEN)
    busy = await messages(exports, copy.media, reader, copy.chat(chats["busy"], ()))
    assert busy[0]["reactions"][0]["count"] == 25
    assert [each.get("reply_to") for each in busy] == [None, 0, None, None]
    everything = b"".join(path.read_bytes() for path in (exports.directory / "export").rglob("*.*"))
    for hidden in (b"to be deleted", b"vanishes", b"deleted file", b"original", b"secret-token"):
        assert hidden not in everything


async def test_the_times_of_joins_separate_the_same_messages_within_a_millisecond(exports: ExportEnv) -> None:
    cases = exports.use_cases
    await exports.api.accounts.users.create(cases.tenant, ANNA)
    cases.clock.now_ms = lambda: 1_790_000_000_000  # type: ignore[method-assign]
    chat = await cases.group(CLEO)
    await exports.say(chat, ANNA, "before")
    await cases.commands.add(chat, by(ANNA), [BEN])
    await exports.say(chat, ANNA, "while a member")
    await cases.commands.remove(chat, by(ANNA), BEN)
    await exports.say(chat, ANNA, "after")
    await exports.api.settle()
    del cases.clock.now_ms
    await export(exports)
    copy = await imported(exports)
    found = await messages(exports, copy.media, copy.api.user(BEN), copy.chat(chat, ()))
    assert [each["text"] for each in found] == ["while a member"]


async def test_processes_that_die_at_every_step_write_the_same_files(exports: ExportEnv) -> None:
    await populate(exports)
    whole = await export(exports)
    expected = {
        name: (exports.directory / "export" / name).read_bytes() for name in ("users.jsonl", "chats.jsonl")
    }
    (exports.directory / "export").rename(exports.directory / "whole")
    deaths = 0
    while True:
        try:
            done = await export(exports, KillAt(1 + 3 * deaths))
        except KilledError:
            deaths += 1
            continue
        break
    assert deaths >= 5
    assert {name: (exports.directory / "export" / name).read_bytes() for name in expected} == expected
    assert done == whole
    assert not list((exports.directory / "export").glob("progress*"))


async def test_messages_of_an_erased_user_are_without_content_and_name(exports: ExportEnv) -> None:
    chats = await exports.populate()
    await exports.use_cases.user_keys.destroy(exports.use_cases.tenant, CLEO)
    await export(exports)
    copy = await imported(exports)
    rejoined = copy.chat(chats["rejoined"], ())
    found = await messages(exports, copy.media, copy.api.user(ANNA), rejoined)
    assert {each["state"] for each in found if each["sender"] == CLEO} == {"redacted"}


async def test_a_directory_with_something_else_or_of_another_tenant_is_refused(exports: ExportEnv) -> None:
    await exports.populate()
    (exports.directory / "export").mkdir()
    assert await code_of(export(exports)) is Code.REQUEST_INVALID
    (exports.directory / "export").rmdir()
    with pytest.raises(KilledError):
        await export(exports, KillAt(3))
    assert await code_of(export(exports, tenant=TenantId("another"))) is Code.REQUEST_INVALID
    with open_export_directory(exports.directory / "export"):
        assert await code_of(export(exports)) is Code.REQUEST_INVALID
    await export(exports)
    assert await code_of(export(exports)) is Code.REQUEST_INVALID, "it is complete"


def test_a_state_is_not_ahead_of_the_file_of_chats(tmp_path: Path) -> None:
    """The copy is what `kill -9` leaves: without the bytes that the process has not written yet."""
    with open_export_directory(tmp_path / "export") as directory:
        directory.save(directory.load(TenantId("acme")))
        copytree(tmp_path / "export", tmp_path / "killed")
    with open_export_directory(tmp_path / "killed") as directory:
        directory.load(TenantId("acme"))
    (header,) = (tmp_path / "killed" / "chats.jsonl").read_text().splitlines()
    assert json.loads(header)["source"] == tenant_export.SOURCE
