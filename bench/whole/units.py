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
    with installation() as house:

        async def measured() -> Found:
            async with house.stage() as stage:
                return await _measure(stage)

        return uvloop.run(measured())


async def _measure(stage: UseCaseEnv) -> Found:
    lists, asked = ChatListEnv(stage), _Asked(stage)
    chat = await asked.of("create a direct chat", stage.manage.direct(stage.tenant, ANNA, BEN))
    for _ in range(_PAGE):
        await stage.send(chat, ANNA)
    await lists.deliver()
    await asked.of("send, with the position of the device", stage.send(chat, ANNA, after=_PAGE + 1))
    await asked.of("update both chat rows for a message in a direct chat", lists.deliver())
    await asked.of("send, without a position", stage.send(chat, ANNA, after=None))
    await lists.deliver()
    await asked.of("read the newest page of 20 entries", stage.history.before(chat, BEN, None, _PAGE))
    await asked.of("mark a chat as read", lists.marking.read(chat, BEN, _PAGE))
    group = await asked.of("create a group of 50 members", _group(stage))
    await lists.deliver()
    await stage.send(group, ANNA, after=1)
    await asked.of("update all chat rows for a message in a group of 50 members", lists.deliver())
    for number in range(_CHATS):
        await stage.send(await stage.manage.direct(stage.tenant, CLEO, UserId(f"friend-{number}")), CLEO)
    await lists.deliver()
    await asked.of("read a chat list of 20 chats", lists.page(CLEO, limit=_CHATS))
    return Found(figures=tuple(asked.figures))


async def _group(stage: UseCaseEnv) -> ChatKey:
    return await stage.group(*(UserId(f"member-{number}") for number in range(_GROUP - 1)))


class _Asked:
    def __init__(self, stage: UseCaseEnv) -> None:
        self._stage = stage
        self.figures: list[Figure] = []

    async def of[T](self, name: str, doing: Awaitable[T]) -> T:
        before = self._counted()
        answer = await doing
        for what, spent in self._counted().items():
            self.figures.append(figure(f"{what}: {name}", spent - before[what]))
        return answer

    def _counted(self) -> dict[str, float]:
        counts = list(self._stage.client.ledger)
        return {
            what: sum(each.value for each in counts if each.name == name)
            for what, name in {"write units": "write_units", "read units": "read_units"}.items()
        }
