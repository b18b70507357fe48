"""Joins by rule, link and invite on both engines."""

from typing import Any

from fixtures.use_cases import ANNA, BEN, CLEO, DORA, UseCaseEnv, by, code_of

from tidings.chats.model import JoinRule
from tidings.chats.moderation import RulesChange
from tidings.kernel.errors import Code
from tidings.messages.model import EntryKind

OPEN, LINK, CLOSED = (RulesChange(join_rule=rule) for rule in (JoinRule.OPEN, JoinRule.LINK, JoinRule.CLOSED))


async def test_everyone_joins_an_open_chat_once(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(BEN)
    assert await code_of(use_cases.joins.join(chat, by(DORA))) is Code.CHAT_NOT_FOUND
    await use_cases.moderation.set_rules(chat, by(ANNA), OPEN)
    await use_cases.joins.join(chat, by(DORA))
    await use_cases.joins.join(chat, by(DORA))
    assert await use_cases.kinds(chat) == [EntryKind.CREATE, EntryKind.RULES, EntryKind.JOIN]
    await use_cases.send(chat, DORA, after=3)
    row = await use_cases.rows.chat(chat)
    assert row is not None
    assert row.member_count == 3


async def test_a_link_admits_until_it_is_replaced_or_revoked(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(BEN)
    await use_cases.moderation.set_rules(chat, by(ANNA), LINK)
    first = await use_cases.joins.create_link(chat, by(ANNA))
    assert await code_of(use_cases.joins.join(chat, by(CLEO))) is Code.CHAT_NOT_FOUND
    assert await code_of(use_cases.joins.join(chat, by(CLEO), "wrong")) is Code.CHAT_NOT_FOUND
    await use_cases.joins.join(chat, by(CLEO), first)
    second = await use_cases.joins.create_link(chat, by(ANNA))
    assert await code_of(use_cases.joins.join(chat, by(DORA), first)) is Code.CHAT_NOT_FOUND
    await use_cases.joins.revoke_link(chat, by(ANNA))
    assert await code_of(use_cases.joins.join(chat, by(DORA), second)) is Code.CHAT_NOT_FOUND
    assert await code_of(use_cases.joins.create_link(chat, by(BEN))) is Code.FORBIDDEN


async def test_a_join_that_races_with_the_end_of_its_link_fails(use_cases: UseCaseEnv) -> None:
    """The admin revokes the link, or closes the chat, between the read of the chat and the commit."""
    chat = await use_cases.group(BEN)
    append = use_cases.appends.append
    for end in ("revoke", "close"):
        await use_cases.moderation.set_rules(chat, by(ANNA), LINK)
        token = await use_cases.joins.create_link(chat, by(ANNA))

        async def ended_first(*given: Any, end: str = end, **more: Any) -> Any:
            use_cases.appends.append = append  # type: ignore[method-assign]
            if end == "revoke":
                await use_cases.joins.revoke_link(chat, by(ANNA))
            else:
                await use_cases.moderation.set_rules(chat, by(ANNA), CLOSED)
            return await append(*given, **more)

        use_cases.appends.append = ended_first  # type: ignore[method-assign]
        assert await code_of(use_cases.joins.join(chat, by(DORA), token)) is Code.CHAT_NOT_FOUND
    assert EntryKind.JOIN not in await use_cases.kinds(chat)


async def test_a_banned_user_joins_by_no_way(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(BEN)
    await use_cases.moderation.set_rules(chat, by(ANNA), OPEN)
    await use_cases.joins.invite(chat, by(ANNA), [DORA])
    await use_cases.moderation.ban(chat, by(ANNA), DORA)
    assert await code_of(use_cases.joins.join(chat, by(DORA))) is Code.BANNED
    assert await code_of(use_cases.joins.accept(chat, by(DORA))) is Code.BANNED
    assert await code_of(use_cases.joins.invite(chat, by(ANNA), [CLEO, DORA])) is Code.BANNED
    assert (await use_cases.joins.invites(use_cases.tenant, CLEO, None, 10))[0] == []


async def test_a_join_that_races_with_a_ban_fails(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(BEN)
    await use_cases.moderation.set_rules(chat, by(ANNA), OPEN)
    append = use_cases.appends.append

    async def banned_first(*given: Any, **more: Any) -> Any:
        use_cases.appends.append = append  # type: ignore[method-assign]
        await use_cases.moderation.ban(chat, by(ANNA), DORA)
        return await append(*given, **more)

    use_cases.appends.append = banned_first  # type: ignore[method-assign]
    assert await code_of(use_cases.joins.join(chat, by(DORA))) is Code.BANNED
    row = await use_cases.rows.membership(chat, DORA)
    assert row is not None
    assert not row.is_member


async def test_an_invite_is_accepted_once(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(BEN)
    assert await code_of(use_cases.joins.invite(chat, by(BEN), [DORA])) is Code.FORBIDDEN
    await use_cases.joins.invite(chat, by(ANNA), [BEN, DORA])
    (invite,), _ = await use_cases.joins.invites(use_cases.tenant, DORA, None, 10)
    assert (invite.chat, invite.by) == (chat.chat, ANNA)
    assert (await use_cases.joins.invites(use_cases.tenant, BEN, None, 10))[0] == []
    await use_cases.joins.accept(chat, by(DORA))
    assert (await use_cases.joins.invites(use_cases.tenant, DORA, None, 10))[0] == []
    await use_cases.joins.accept(chat, by(DORA))
    await use_cases.send(chat, DORA, after=2)
    await use_cases.manage.remove(chat, by(ANNA), DORA)
    assert await code_of(use_cases.joins.accept(chat, by(DORA))) is Code.INVITE_NOT_FOUND


async def test_a_declined_or_revoked_invite_admits_nobody(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(BEN)
    await use_cases.joins.invite(chat, by(ANNA), [CLEO, DORA])
    await use_cases.joins.decline(chat, DORA)
    await use_cases.joins.revoke_invite(chat, by(ANNA), CLEO)
    assert await code_of(use_cases.joins.decline(chat, DORA)) is Code.INVITE_NOT_FOUND
    for user in (CLEO, DORA):
        assert await code_of(use_cases.joins.accept(chat, by(user))) is Code.INVITE_NOT_FOUND


async def test_invites_are_listed_in_pages(use_cases: UseCaseEnv) -> None:
    chats = [await use_cases.group(BEN) for _ in range(3)]
    for chat in chats:
        await use_cases.joins.invite(chat, by(ANNA), [DORA])
    first, cursor = await use_cases.joins.invites(use_cases.tenant, DORA, None, 2)
    rest, end = await use_cases.joins.invites(use_cases.tenant, DORA, cursor, 2)
    assert sorted(chat.chat for chat in chats) == [invite.chat for invite in (*first, *rest)]
    assert end is None
