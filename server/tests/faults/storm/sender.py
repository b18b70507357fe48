"""One process with several senders. Each sends its messages one after another and repeats until it is answered.

What it needs to go on after a kill -9 is in its history: the message that was under way, and its `after`.
"""

import asyncio
import json
import random
import sys
from dataclasses import dataclass
from pathlib import Path

from fixtures.tables import REGION
from fixtures.use_cases import UseCaseEnv

from faults.storm.history import History, SendOutcome, read
from faults.storm.mutants import MUTANTS
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId, ChatKey, ClientKey, TenantId, UserId
from tidings.messages.model import IdempotencyKey
from tidings.messages.sender import Content
from tidings.platform.dynamo.open_client import open_client
from tidings.platform.dynamo.transport import CallLimits

FOR_GOOD = {Code.NOT_A_MEMBER, Code.IDEMPOTENCY_CONFLICT, Code.POSITION_AHEAD}
LIMITS = CallLimits(call_timeout_s=2.0, try_timeout_s=0.4)


@dataclass(frozen=True)
class Orders:
    url: str
    prefix: str
    tenant: str
    chat: str
    users: list[str]
    sends: int
    history: str
    key_file: str
    seed: int
    mutant: str = ""


class Sender:
    def __init__(self, orders: Orders, stage: UseCaseEnv, user: str) -> None:
        self.orders = orders
        self.stage = stage
        self.chat = ChatKey(TenantId(orders.tenant), ChatId(orders.chat))
        self.user = user
        self.path = Path(orders.history) / f"{user}.jsonl"
        self.history = History(self.path)
        self.keeps_position = int(user.removeprefix("u")) % 2 == 0
        self.position = 1
        self.chance = random.Random(f"{orders.seed}/{user}")

    async def run(self) -> None:
        first, under_way = self.resume()
        for number in range(first, self.orders.sends):
            told = under_way if under_way and under_way.number == number else self.next(number)
            self.history.tell(told)
            outcome = await self.until_answered(told)
            self.history.tell(told._replace(outcome=outcome))
            if isinstance(outcome, int):
                self.position = max(self.position, outcome)
            else:
                await self.catch_up()

    async def catch_up(self) -> None:
        """As a client does that was out of the chat: it goes on from what it receives."""
        while True:
            try:
                newest = await self.stage.log.newest(self.chat)
            except TidingsError:
                continue
            assert newest is not None
            self.position = max(self.position, newest.sequence)
            return

    def resume(self) -> tuple[int, SendOutcome | None]:
        """Where an earlier life of this sender stopped."""
        last: SendOutcome | None = None
        for told in read(self.path):
            last = told
            if isinstance(told.outcome, int):
                self.position = max(self.position, told.outcome)
        if last is None:
            return 0, None
        return (last.number, last) if last.outcome is None else (last.number + 1, None)

    def next(self, number: int) -> SendOutcome:
        return SendOutcome(self.user, number, self.position if self.keeps_position else None)

    async def until_answered(self, told: SendOutcome) -> int | str:
        while True:
            try:
                sent = await asyncio.wait_for(self.send(told), 3)
            except TimeoutError:
                pass
            except TidingsError as error:
                if error.code in FOR_GOOD:
                    return error.code.value
                if error.code is Code.POSITION_TOO_OLD:
                    found, told = await self.read_since(told)
                    if found is not None:
                        return found
            else:
                return sent
            await asyncio.sleep(self.chance.uniform(0, 0.05))

    async def read_since(self, told: SendOutcome) -> tuple[int | None, SendOutcome]:
        """Everything above `after`: the message itself if it stands there, else `after` may be raised."""
        assert told.after is not None
        while True:
            try:
                page = await self.stage.reader.range(self.chat, told.after, 10**12, 1000, newest_first=False)
            except TidingsError:
                continue
            for entry in page:
                if entry.key == IdempotencyKey(UserId(self.user), ClientKey(told.key)):
                    return entry.sequence, told
            if not page:
                self.history.tell(told)
                return None, told
            told = told._replace(after=page[-1].sequence)

    async def send(self, told: SendOutcome) -> int:
        content = Content(text=told.key)
        key = ClientKey(told.key)
        sent = await self.stage.sender.send(self.chat, UserId(self.user), key, content, after=told.after)
        return sent.sequence


async def main(orders: Orders) -> None:
    if orders.mutant:
        MUTANTS[orders.mutant]()
    async with open_client(orders.url, REGION, orders.prefix, limits=LIMITS) as client:
        stage = UseCaseEnv(client, orders.tenant, Path(orders.key_file))
        await asyncio.gather(*(Sender(orders, stage, user).run() for user in orders.users))


if __name__ == "__main__":
    asyncio.run(main(Orders(**json.loads(sys.argv[1]))))
