"""Count the DynamoDB units of each operation, from the cost ledger that records every call.

The counts involve no clock and are the same on every machine.
"""

from collections.abc import Awaitable

import uvloop
from fixtures.chat_list_env import ChatListEnv
from fixtures.installation import installation
from fixtures.use_cases import ANNA, BEN, CLEO, UseCaseEnv

from bench.whole.model import Figure, Found, figure
from tidings.kernel.ids import ChatKey, UserId

_CHATS = 20
_PAGE = 20
_GROUP = 50


def units(*, is_short: bool) -> Found:
    del is_short  # the whole part takes a second
    with installation() as env:

        async def measured() -> Found:
            async with env.use_cases() as use_cases:
                return await _measure(use_cases)

        return uvloop.run(measured())


async def _measure(use_cases: UseCaseEnv) -> Found:
    lists, asked = ChatListEnv(use_cases), _Asked(use_cases)
    chat = await asked.of("create a direct chat", use_cases.manage.direct(use_cases.tenant, ANNA, BEN))
    for _ in range(_PAGE):
        await use_cases.send(chat, ANNA)
    await lists.deliver()
    await asked.of("send, with the position of the device", use_cases.send(chat, ANNA, after=_PAGE + 1))
    await asked.of("update both chat rows for a message in a direct chat", lists.deliver())
    await asked.of("send, without a position", use_cases.send(chat, ANNA, after=None))
    await lists.deliver()
    await asked.of("read the newest page of 20 entries", use_cases.history.before(chat, BEN, None, _PAGE))
    await asked.of("mark a chat as read", lists.marking.read(chat, BEN, _PAGE))
    group = await asked.of("create a group of 50 members", _group(use_cases))
    await lists.deliver()
    await use_cases.send(group, ANNA, after=1)
    await asked.of(
        "update the head and the sender's row for a message in a group of 50 members", lists.deliver()
    )
    for number in range(_CHATS):
        await use_cases.send(
            await use_cases.manage.direct(use_cases.tenant, CLEO, UserId(f"friend-{number}")), CLEO
        )
    await lists.deliver()
    await asked.of("read a chat list of 20 chats", lists.page(CLEO, limit=_CHATS))
    return Found(figures=tuple(asked.figures))


async def _group(use_cases: UseCaseEnv) -> ChatKey:
    return await use_cases.group(*(UserId(f"member-{number}") for number in range(_GROUP - 1)))


class _Asked:
    def __init__(self, use_cases: UseCaseEnv) -> None:
        self._use_cases = use_cases
        self.figures: list[Figure] = []

    async def of[T](self, name: str, doing: Awaitable[T]) -> T:
        before = self._counted()
        answer = await doing
        for what, spent in self._counted().items():
            self.figures.append(figure(f"{what}: {name}", spent - before[what]))
        return answer

    def _counted(self) -> dict[str, float]:
        counts = list(self._use_cases.client.ledger)
        return {
            what: sum(each.value for each in counts if each.name == name)
            for what, name in {"write units": "write_units", "read units": "read_units"}.items()
        }
