"""What other users see of an author whose keys were destroyed, and what reading keys costs."""

from collections import Counter

from fixtures.chat_list_env import ChatListEnv
from fixtures.use_cases import ANNA, BEN, CLEO, UseCaseEnv, asked, code_of, user_key_ring

from tidings.delivery.model import LastMessageState
from tidings.kernel.errors import Code
from tidings.kernel.ids import ChatKey, UserId
from tidings.messages.history import ContentState
from tidings.messages.model import EntryKind
from tidings.messages.sender import Content
from tidings.schema.tables.patterns.accounts import CONFIRM_USER_KEYS, READ_USER_KEYS


def restart(use_cases: UseCaseEnv) -> None:
    """Continue as a new process, which has no keys in its cache."""
    use_cases.user_keys = use_cases.keys = user_key_ring(use_cases.client, use_cases.ring)
    use_cases.open_process()


def key_reads(use_cases: UseCaseEnv) -> Counter[str]:
    patterns = {READ_USER_KEYS.name, CONFIRM_USER_KEYS.name}
    return Counter(
        {
            name: int(
                sum(c.value for c in use_cases.client.ledger if c.pattern in patterns and c.name == name)
            )
            for name in ("calls", "read_units")
        }
    )


async def states(use_cases: UseCaseEnv, chat: ChatKey, reader: UserId) -> list[tuple[ContentState, str]]:
    page = await use_cases.history.before(chat, reader, None, 100)
    messages = [shown for shown in page.entries if shown.entry.kind is EntryKind.MESSAGE]
    return [(shown.state, shown.content.text if shown.content else "") for shown in reversed(messages)]


async def talk(use_cases: UseCaseEnv) -> ChatKey:
    chat = await use_cases.group(BEN, CLEO)
    first = await use_cases.send(chat, ANNA, "from anna")
    await use_cases.send(chat, BEN, "from ben")
    await use_cases.send(chat, ANNA, "for an hour", ttl_s=3600)
    await use_cases.change.edit(asked(chat, ANNA, first.sequence), Content(text="edited by anna"))
    return chat


async def test_messages_of_an_erased_author_are_erased_and_the_others_of_the_page_are_not(
    use_cases: UseCaseEnv,
) -> None:
    chat = await talk(use_cases)
    assert [text for _, text in await states(use_cases, chat, BEN)] == [
        "edited by anna",
        "from ben",
        "for an hour",
    ]
    await use_cases.user_keys.destroy(chat.tenant, ANNA)
    expected = [(ContentState.ERASED, ""), (ContentState.ACTIVE, "from ben"), (ContentState.ERASED, "")]
    assert await states(use_cases, chat, BEN) == expected
    restart(use_cases)
    assert await states(use_cases, chat, BEN) == expected


async def test_an_erased_user_cannot_send_and_their_retries_cannot_be_compared(use_cases: UseCaseEnv) -> None:
    chat = await talk(use_cases)
    await use_cases.user_keys.destroy(chat.tenant, ANNA)
    restart(use_cases)
    assert await code_of(use_cases.send(chat, ANNA, "again")) is Code.USER_ERASED


async def test_the_preview_of_an_erased_author_is_erased_in_every_chat_list(use_cases: UseCaseEnv) -> None:
    chat = await talk(use_cases)
    lists = ChatListEnv(use_cases)
    await lists.deliver()
    await use_cases.send(chat, ANNA, "the last message")
    await lists.deliver()
    assert await lists.text(chat, BEN) == "the last message"
    await use_cases.user_keys.destroy(chat.tenant, ANNA)
    listed = await lists.listed(chat, BEN)
    assert listed.last is not None
    assert (listed.last.state, listed.last.text) == (LastMessageState.ERASED, "")


async def test_an_entry_of_an_erased_author_is_delivered_without_content(use_cases: UseCaseEnv) -> None:
    chat = await talk(use_cases)
    lists = ChatListEnv(use_cases)
    await lists.deliver()
    await use_cases.send(chat, ANNA, "on its way")
    await use_cases.user_keys.destroy(chat.tenant, ANNA)
    await lists.deliver()
    listed = await lists.listed(chat, BEN)
    assert listed.last is not None
    assert listed.last.text == ""
    assert listed.unread == 2


async def test_a_page_with_fifty_authors_needs_one_batch_of_keys_when_cold_and_none_when_warm(
    use_cases: UseCaseEnv,
) -> None:
    users = [UserId(f"user-{n}") for n in range(50)]
    chat = await use_cases.group(*users)
    for user in users:
        await use_cases.send(chat, user, f"from {user}")
    restart(use_cases)
    for calls, units in ((1, 25), (0, 0)):
        before = key_reads(use_cases)
        page = await use_cases.history.before(chat, ANNA, None, 60)
        assert sum(shown.content is not None for shown in page.entries) == 50
        assert key_reads(use_cases) - before == Counter({"calls": calls, "read_units": units})


async def test_a_group_that_an_erased_user_created_can_be_used(use_cases: UseCaseEnv) -> None:
    chat = await talk(use_cases)
    await use_cases.user_keys.destroy(chat.tenant, ANNA)
    restart(use_cases)
    await use_cases.send(chat, BEN, "still here")
    assert (await states(use_cases, chat, BEN))[-1] == (ContentState.ACTIVE, "still here")
