"""Part: DynamoDB's units of each operation, by the ledger that every call is entered in. No clock: exact on any machine."""

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
    del is_short  # it takes a second
    with installation() as house:

        async def told() -> Found:
            async with house.stage() as stage:
                return await _told(stage)

        return uvloop.run(told())


async def _told(stage: UseCaseEnv) -> Found:
    lists, asked = ChatListEnv(stage), _Asked(stage)
    chat = await asked.of("making a direct chat", stage.manage.direct(stage.tenant, ANNA, BEN))
    for _ in range(_PAGE):
        await stage.send(chat, ANNA)
    await lists.deliver()
    await asked.of("a send by a device that keeps its position", stage.send(chat, ANNA, after=_PAGE + 1))
    await asked.of("rows of both for a message in a direct chat", lists.deliver())
    await asked.of("a send by who keeps none", stage.send(chat, ANNA, after=None))
    await lists.deliver()
    await asked.of("the newest page of twenty", stage.history.before(chat, BEN, None, _PAGE))
    await asked.of("marking as read", lists.marking.read(chat, BEN, _PAGE))
    group = await asked.of("making a group of fifty", _group(stage))
    await lists.deliver()
    await stage.send(group, ANNA, after=1)
    await asked.of("rows of all for a message in a group of fifty", lists.deliver())
    for number in range(_CHATS):
        await stage.send(await stage.manage.direct(stage.tenant, CLEO, UserId(f"friend-{number}")), CLEO)
    await lists.deliver()
    await asked.of("a chat list of twenty", lists.page(CLEO, limit=_CHATS))
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
            self.figures.append(figure(f"{what} of {name}", spent - before[what]))
        return answer

    def _counted(self) -> dict[str, float]:
        counts = list(self._stage.client.ledger)
        return {
            what: sum(each.value for each in counts if each.name == name)
            for what, name in {"write units": "write_units", "read units": "read_units"}.items()
        }
